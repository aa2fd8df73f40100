// Script of the page, 6 of 6: tables that are sorted and copied, and the list of keys.

const FACTORS = {
	ns: 1e-9, us: 1e-6, "\u00b5s": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, B: 1, KB: 1e3, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12,
	KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4, k: 1e3, M: 1e6, G: 1e9,
};
const text = cell => cell.textContent.replace(/\s+/g, " ").trim();
// The number of a cell by its value, and not by its text; undefined if it has none.
const value = cell => {
	if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
	const found = /^[\s\u00b1<>=~+\u2265\u2264]*(-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*(\u00b5s|[A-Za-z]+)?/.exec(text(cell));
	return found ? Number(found[1].replace(/,/g, "")) * (FACTORS[found[2]] || 1) : undefined;
};
const isEmpty = cell => /^[-\u2013]?$/.test(text(cell));
// A word in a column of numbers is no reason to sort its numbers as text.
const isNumeric = cells => cells.some(cell => value(cell) !== undefined) && cells.every(cell => isEmpty(cell) || value(cell) !== undefined || cell.matches(".n"));
const collator = new Intl.Collator("en", { numeric: true });
const sort = (table, place, order) => {
	const body = table.tBodies[0], at = row => row.cells[place];
	const numeric = isNumeric([...body.rows].map(at)), sign = order === "descending" ? -1 : 1;
	const isMissing = cell => numeric ? value(cell) === undefined : isEmpty(cell);
	const compare = (a, b) => {
		// What is missing is last in either order.
		if (isMissing(at(a)) || isMissing(at(b))) return isMissing(at(a)) - isMissing(at(b));
		return sign * (numeric ? value(at(a)) - value(at(b)) : collator.compare(text(at(a)), text(at(b))));
	};
	const rows = order === "none" ? table.first : [...body.rows].sort(compare);
	body.append(...rows);
};
const rowsOf = table => [...table.rows].map(row => [...row.cells]);
const asMarkdown = table => {
	const escaped = cell => text(cell).replace(/[\\`*_[\]|#~!]/g, "\\$&").replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/:\/\//g, "&#58;//");
	const rows = rowsOf(table).map(cells => "| " + cells.map(escaped).join(" | ") + " |");
	const body = table.tBodies[0].rows;
	const rule = rowsOf(table)[0].map((_, nth) => isNumeric([...body].map(row => row.cells[nth]).filter(Boolean)) ? "---:" : "---");
	rows.splice(1, 0, "| " + rule.join(" | ") + " |");
	return rows.join("\n") + "\n";
};
// A spreadsheet takes a text that begins so for a formula; a number may be negative.
const asCsv = table => {
	const field = cell => {
		const raw = isEmpty(cell) ? "" : text(cell);
		const safe = /^[=+\-@]/.test(raw) && !/^-?[\d.,]+$/.test(raw) ? "'" + raw : raw;
		return /[",;\n]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
	};
	return rowsOf(table).map(cells => cells.map(field).join(",")).join("\r\n") + "\r\n";
};
const copy = async (words, node) => {
	try {
		await navigator.clipboard.writeText(words);
	} catch {
		const area = make(document.body, "textarea", { class: "unseen" });
		area.value = words;
		area.select();
		document.execCommand("copy");
		area.remove();
	}
	node.classList.add("done");
	tell("copied");
	setTimeout(() => node.classList.remove("done"), 1500);
};
for (const table of all("main table")) {
	if (!table.tHead || !table.tBodies.length) continue;
	const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells], body = table.tBodies[0];
	table.first = [...body.rows];
	if (body.rows.length > 1 && table.first.every(row => row.cells.length === heads.length)) {
		heads.forEach((head, place) => {
			if (!text(head)) return;
			const press = document.createElement("button");
			press.type = "button";
			press.className = "sort";
			press.append(...head.childNodes);
			head.append(press);
			head.setAttribute("aria-sort", "none");
			press.addEventListener("click", () => {
				// Numbers are first asked for the greatest.
				const orders = isNumeric(table.first.map(row => row.cells[place])) ? ["none", "descending", "ascending"] : ["none", "ascending", "descending"];
				const next = orders[(orders.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
				heads.forEach(other => other.hasAttribute("aria-sort") && other.setAttribute("aria-sort", other === head ? next : "none"));
				sort(table, place, next);
			});
		});
	}
	const scroll = table.closest(".scroll") || table, tools = document.createElement("div");
	tools.className = "tools";
	scroll.after(tools);
	const markdown = button(tools, "Markdown", "Copy this table as Markdown", () => copy(asMarkdown(table), markdown));
	const csv = button(tools, "CSV", "Copy this table as CSV", () => copy(asCsv(table), csv));
}

const KEYS = [
	["Tab", "to the next chart, column head or button"],
	["\u2190 \u2192", "move the cursor of a chart by a value; with Shift by ten"],
	["Home, End", "to the first and the last value"],
	["+ -", "zoom all charts over time in and out"],
	["0, Esc", "show the whole time"],
	["1 to 9", "hide or show the line with that place among the names of a chart"],
	["Enter", "on the head of a column: sort the table by it"],
	["?", "this list"],
];
const help = make(document.body, "dialog", { class: "keys", "aria-label": "Keys" });
const list = make(help, "dl");
for (const [key, what] of KEYS) {
	const line = make(list, "div");
	make(line, "dt", {}, key);
	make(line, "dd", {}, what);
}
button(help, "Close", "Close this list", () => help.close());
addEventListener("keydown", event => {
	if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
	if (event.key === "?") help.showModal();
	if (event.key === "Escape") { zoomTo(null); pointAt(null); }
});
