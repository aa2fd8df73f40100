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
// The picture as it is shown, on white, without cursor.
const drawing = (svg, title) => {
	const copy = svg.cloneNode(true);
	all(".overlay", copy).forEach(node => node.remove());
	for (const key of ["tabindex", "aria-label", "aria-roledescription"]) copy.removeAttribute(key);
	if (title) copy.prepend(title.cloneNode(true));
	// The page has the conditions around the picture; a file has them at its foot.
	const box = svg.viewBox.baseVal, height = Number(svg.dataset.height) || box.height;
	copy.setAttribute("viewBox", `0 0 ${box.width} ${height}`);
	copy.setAttribute("height", height);
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
