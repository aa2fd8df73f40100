// Script of the page, 5 of 6: names that hide and show lines, and charts as files.

// Hides or shows the series of a name, in the wide and in the narrow picture.
const toggle = (svg, name) => {
	const { key } = name.dataset, isShown = name.classList.contains("off");
	for (const node of all("[data-key]", svg.closest("figure")).filter(node => node.dataset.key === key)) {
		if (node.matches(".name")) {
			node.classList.toggle("off", !isShown);
			node.setAttribute("aria-pressed", isShown);
		} else if (isShown) node.removeAttribute("display");
		else node.setAttribute("display", "none");
	}
	pointAt(state.cursor);
	tell(name.textContent.trim() + (isShown ? " is shown" : " is hidden"));
};
const names = svg => all(".name", svg).filter(name => all(".series", svg).some(series => series.dataset.key === name.dataset.key));

const save = (name, blob) => {
	const link = make(document.body, "a", { download: name, hidden: "" });
	link.href = URL.createObjectURL(blob);
	link.click();
	setTimeout(() => { URL.revokeObjectURL(link.href); link.remove(); }, 10000);
};
// The page has the conditions of its pictures once; a file has them at its foot.
const addConditions = (copy, { width, height }, text) => {
	const lines = [""];
	for (const word of text.split(" ")) {
		const last = lines[lines.length - 1], longer = last ? last + " " + word : word;
		if (longer.length * 8.2 > width - 28 && last) lines.push(word);
		else lines[lines.length - 1] = longer;
	}
	lines.forEach((line, nth) => make(copy, "text", { class: "f-faint", x: 14, y: height + 20 + 18 * nth }, line));
	const whole = height + 12 + 18 * lines.length;
	copy.setAttribute("viewBox", `0 0 ${width} ${whole}`);
	copy.setAttribute("height", whole);
	copy.querySelector("rect").setAttribute("height", whole);
};
// The picture as it is shown, on white, without cursor.
const drawing = (svg, title) => {
	const copy = svg.cloneNode(true);
	all(".overlay", copy).forEach(node => node.remove());
	for (const key of ["tabindex", "aria-label", "aria-roledescription"]) copy.removeAttribute(key);
	const rules = document.querySelector("style").textContent.split("/**/")[0];
	copy.prepend(make(copy, "style", {}, rules));
	if (title) copy.prepend(title.cloneNode(true));
	const measured = document.getElementById("measured"), nth = svg.closest("figure").dataset.measured;
	if (measured && nth) addConditions(copy, svg.viewBox.baseVal, measured.children[nth].textContent);
	return new XMLSerializer().serializeToString(copy);
};
const savePng = (svg, name, title) => {
	const image = new Image();
	image.onload = () => {
		const canvas = document.createElement("canvas");
		[canvas.width, canvas.height] = [2 * image.naturalWidth, 2 * image.naturalHeight];
		canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
		canvas.toBlob(blob => blob && save(name, blob));
	};
	image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(drawing(svg, title));
};
for (const figure of all("figure")) {
	const svgs = all("svg.chart", figure);
	if (!svgs.length) continue;
	const titles = new Map();
	for (const svg of svgs) {
		// A title inside would follow the pointer as a tooltip, over the cursor.
		const title = svg.querySelector("title");
		titles.set(svg, title);
		if (title) {
			svg.setAttribute("aria-label", title.textContent);
			svg.removeAttribute("aria-labelledby");
			title.remove();
		}
		svg.setAttribute("tabindex", 0);
		svg.setAttribute("role", "group");
		svg.setAttribute("aria-roledescription", "chart");
		for (const name of names(svg)) {
			name.setAttribute("role", "button");
			name.setAttribute("aria-pressed", true);
			name.classList.add("switch");
			name.addEventListener("click", () => toggle(svg, name));
		}
		svg.addEventListener("keydown", event => {
			const name = /^[1-9]$/.test(event.key) && names(svg)[event.key - 1];
			if (name) toggle(svg, name);
		});
	}
	const shown = () => svgs.find(svg => svg.getBoundingClientRect().width > 0) || svgs[0];
	const name = figure.id.replace("figure-", "") || "chart";
	const tools = document.createElement("div");
	tools.className = "tools";
	figure.insertBefore(tools, figure.querySelector("details.data"));
	button(tools, "SVG", "Save this chart as SVG", () => save(name + ".svg", new Blob([drawing(shown(), titles.get(shown()))], { type: "image/svg+xml" })));
	button(tools, "PNG", "Save this chart as PNG", () => savePng(shown(), name + ".png", titles.get(shown())));
}
