// Script of the page, 1 of 6: what the other parts share. Without the script the page is complete; with it, charts over time share a cursor
// and a zoom, lines are hidden and shown, tables are sorted and copied, and charts are saved as files.
//
// In: the elements of the page, and the data of its charts (chart_data.rs). It loads nothing, sends nothing and keeps nothing. The parts
// are one function, so that they see each other's names and the page sees none.

const all = (selector, from = document) => [...from.querySelectorAll(selector)];
const page = document.documentElement;
page.classList.add("scripted");

// An element of HTML, or of SVG if its parent is one.
const make = (parent, name, attributes = {}, text = "") => {
	const isSvg = parent.namespaceURI.endsWith("svg");
	const node = isSvg ? document.createElementNS(parent.namespaceURI, name) : document.createElement(name);
	for (const key in attributes) node.setAttribute(key, attributes[key]);
	if (text) node.textContent = text;
	return parent.appendChild(node);
};
const button = (parent, text, title, act) => {
	const node = make(parent, "button", { type: "button", title }, text);
	node.addEventListener("click", act);
	return node;
};
// For readers who do not see what happened.
const status = make(document.body, "p", { class: "unseen", "aria-live": "polite" });
const tell = text => { status.textContent = text; };
