// Script of the page, 4 of 6: the charts over time, with their cursor and zoom.

const state = { cursor: null, view: null };
// The colour of a series as that of a filled shape.
const inkOf = group => {
	const node = group.querySelector("[class^=s-],[class^=f-]");
	return { class: node ? node.getAttribute("class").replace("s-", "f-").replace(/ (zoomed|t-.)/g, "").replace(/^f-k.$/, "$& l5") : "f-text" };
};
const isArea = node => node.matches("[class^=f-]"), isDotted = node => node.matches(".t-d,[stroke-linecap]");

// A series of one shape is that shape. It gets a group, in which a zoom draws.
const regroup = shape => {
	const parent = make(shape.parentNode, "g", { class: "series", "data-key": shape.dataset.key || "" });
	shape.replaceWith(parent);
	shape.classList.remove("series");
	shape.removeAttribute("data-key");
	parent.append(shape);
};

class Chart {
	constructor(svg) {
		this.svg = svg;
		all("path.series", svg).forEach(regroup);
		for (const key of ["left", "right", "top", "bottom", "from", "to"]) this[key] = Number(svg.dataset[key]);
		this.width = svg.viewBox.baseVal.width;
		this.whole = this.view = [this.from, this.to];
		this.shown = "null";
		this.id = (svg.closest("figure") || { id: "" }).id.replace("figure-", "");
		this.panels = svg.dataset.panels.split(",").map(text => {
			const [top, height, low, high, scale, unit, bytes] = text.split(" ");
			return { top: +top, height: +height, whole: [+low, +high], low: +low, high: +high, isLog: scale === "log", unit, bytes, series: [] };
		});
		this.levels = all(".levels", svg).map(group => ({ group, whole: [...group.childNodes] }));
		this.clips = all("clipPath rect", svg).map(rect => ({ rect, x: rect.getAttribute("x"), width: rect.getAttribute("width") }));
		this.ticks = all(".ticks", svg).map(group => ({ group, whole: [...group.childNodes] }));
		this.overlay = make(svg, "g", { class: "overlay", "pointer-events": "none" });
		this.listen();
	}

	// The series of the data with their groups in the picture, which come in the same order.
	read() {
		if (this.isRead) return;
		this.isRead = true;
		const groups = all(".series", this.svg), shades = all(".shades", this.svg);
		(data.figures[this.id] || []).forEach(([title, ofShades, series], nth) => {
			const place = this.panels[nth];
			if (!place) return;
			place.title = title;
			place.shades = { group: shades[nth], all: ofShades };
			place.series = series.map(([name, marks]) => ({ name, group: groups.shift(), marks: marks.map(readMark) }));
		});
	}

	isVisible() {
		const box = this.svg.getBoundingClientRect();
		return box.width > 0 && box.bottom > 0 && box.top < innerHeight;
	}

	placeOf(at) {
		return this.left + (at - this.view[0]) / (this.view[1] - this.view[0]) * (this.right - this.left);
	}

	heightOf(panel, value) {
		const on = v => panel.isLog ? Math.log10(v) : v;
		return panel.top + panel.height * (1 - (on(value) - on(panel.low)) / (on(panel.high) - on(panel.low)));
	}

	timeAt(event) {
		const box = this.svg.getBoundingClientRect();
		const x = (event.clientX - box.left) / box.width * this.width;
		const part = Math.min(1, Math.max(0, (x - this.left) / (this.right - this.left)));
		return this.view[0] + part * (this.view[1] - this.view[0]);
	}

	// What a series shows at a moment: its value and where that is; nothing in a gap.
	valueAt(series, panel, at) {
		for (const mark of series.marks) {
			const isRead = ["line", "dots", "area"].includes(mark.kind) || (mark.kind === "reference" && series.name);
			const nth = isRead ? nearest(mark.x, at) : -1;
			// The first and the last value hold to the ends of their intervals.
			if (nth < 0 || Math.abs(mark.x[nth] - at) > 1.5 * stepOf(mark.x)) continue;
			const upper = mark.high ? mark.high[nth] : mark.low[nth];
			const value = mark.high ? upper - mark.low[nth] : upper;
			if (!Number.isFinite(value)) return null;
			return { text: inUnit[panel.unit](value), x: mark.x[nth], y: upper };
		}
		return null;
	}

	drawCursor() {
		this.overlay.replaceChildren();
		const at = state.cursor;
		if (this.drag) this.drawRange(this.drag, at);
		if (at === null || at < this.view[0] || at > this.view[1]) return "";
		this.read();
		const x = this.placeOf(at);
		make(this.overlay, "line", { class: "cursor", x1: x, x2: x, y1: this.top, y2: this.bottom });
		const said = [moment(at, this.view[1] - this.view[0] < 100 ? 2 : 1)];
		this.panels.forEach((panel, nth) => {
			const dots = [x], lines = nth ? [] : [{ text: said[0], ink: { class: "f-text" } }];
			for (const series of panel.series) {
				const value = series.group.hasAttribute("display") ? null : this.valueAt(series, panel, at);
				if (!value) continue;
				const ink = inkOf(series.group);
				lines.push({ text: (series.name ? series.name + " " : "") + value.text, ink });
				const y = this.heightOf(panel, value.y), px = this.placeOf(value.x);
				if (y >= panel.top - 1 && y <= panel.top + panel.height + 1 && px >= this.left && px <= this.right) {
					dots.push(px);
					make(this.overlay, "circle", { ...ink, cx: px, cy: y, r: 3.5 });
				}
			}
			said.push(...lines.slice(nth ? 0 : 1).map(line => (panel.title ? panel.title + ": " : "") + line.text));
			this.drawReadout(panel, [Math.min(...dots), Math.max(...dots)], lines);
		});
		return said.join("; ");
	}

	// The values next to the cursor, in as many columns as the height of the panel asks for, on the side with more room.
	drawReadout(panel, [first, last], lines) {
		if (!lines.length) return;
		const rows = Math.max(1, Math.min(lines.length, Math.floor(panel.height / 15)));
		const group = make(this.overlay, "g", { class: "readout" });
		const ground = make(group, "rect", { class: "ground", y: panel.top, height: 15 * rows + 5, rx: 3 });
		let left = 6, width = 0;
		lines.forEach((line, nth) => {
			if (nth && nth % rows === 0) [left, width] = [left + width + 12, 0];
			const y = panel.top + 14 + nth % rows * 15;
			const text = make(group, "text", { ...line.ink, x: left, y, "font-size": 13 }, line.text);
			width = Math.max(width, text.getComputedTextLength());
		});
		const whole = left + width + 6;
		ground.setAttribute("width", whole);
		const fits = last + 8 + whole <= this.right || first - this.left < (this.right - this.left) / 2;
		const start = fits ? Math.min(last + 8, this.width - whole - 2) : Math.max(2, first - 8 - whole);
		group.setAttribute("transform", "translate(" + start + " 0)");
	}

	drawRange(from, to) {
		const [a, b] = [this.placeOf(Math.min(from, to)), this.placeOf(Math.max(from, to))];
		make(this.overlay, "rect", { class: "range", x: a, width: b - a, y: this.top, height: this.bottom - this.top });
	}

	// Shows the part of the time that all charts show, or the whole if none of it is on this axis.
	zoom() {
		const key = String(state.view);
		if (this.shown === key) return;
		this.shown = key;
		const cut = state.view && [Math.max(state.view[0], this.from), Math.min(state.view[1], this.to)];
		const isZoomed = Boolean(cut) && cut[1] > cut[0];
		this.view = isZoomed ? cut : this.whole;
		this.read();
		this.fit(isZoomed);
		all(".zoomed", this.svg).forEach(node => node.remove());
		this.svg.toggleAttribute("data-zoomed", isZoomed);
		const [a, b] = [this.placeOf(this.from), this.placeOf(this.to)], k = (b - a) / (this.right - this.left);
		for (const node of all(".plot > *, .plot > .series > *, .shades > *", this.svg)) {
			if (node.matches(".series")) continue;
			// What is drawn anew from data is hidden; what has no data is stretched.
			node.removeAttribute("display");
			node.removeAttribute("transform");
			if (isZoomed) node.setAttribute("transform", `matrix(${k} 0 0 1 ${a - k * this.left} 0)`);
		}
		// Unzoomed there is room for a dot on the edge; zoomed there is more data beyond it.
		for (const { rect, x, width } of this.clips) {
			rect.setAttribute("x", isZoomed ? this.left : x);
			rect.setAttribute("width", isZoomed ? this.right - this.left : width);
		}
		if (isZoomed) this.panels.forEach(panel => this.redraw(panel));
		this.ticks.forEach(ticks => this.retick(ticks, isZoomed));
	}

	redraw(panel) {
		if (panel.shades) {
			const { group, all: shades } = panel.shades;
			for (const node of [...group.children]) node.setAttribute("display", "none");
			for (const [from, to, tint] of shades) {
				const left = Math.max(this.left, this.placeOf(from)), right = Math.min(this.right, Math.max(left + 1.5, this.placeOf(to)));
				if (to < this.view[0] || from > this.view[1] || right <= left) continue;
				make(group, "rect", { class: "zoomed f-tint-" + tint, x: left, width: right - left, y: panel.top, height: panel.height });
			}
		}
		for (const { group, marks } of panel.series) {
			if (!marks.length) continue;
			const models = [...group.children];
			for (const node of models) node.setAttribute("display", "none");
			const hasDots = marks.some(mark => mark.kind === "dots");
			for (const mark of marks) this.redrawMark(panel, group, models, mark, hasDots);
		}
	}

	// One mark in the colours of the picture's own.
	redrawMark(panel, group, models, mark, hasDots) {
		const { kind, x, low, high } = mark;
		const asArea = kind === "area" || kind === "band", asDots = kind === "dots" || kind === "rings";
		const model = models.find(node => asArea === isArea(node) && (asArea || asDots === isDotted(node))) || models[0];
		if (!model) return;
		const first = Math.max(0, nearest(x, this.view[0]) - 1), last = Math.min(x.length, nearest(x, this.view[1]) + 2);
		const point = (nth, y) => this.placeOf(x[nth]).toFixed(1) + " " + this.heightOf(panel, y[nth]).toFixed(1);
		const known = y => Array.from({ length: last - first }, (_, n) => first + n).filter(nth => Number.isFinite(y[nth]) && (!panel.isLog || y[nth] > 0));
		let path = "";
		if (asArea) {
			const places = known(high);
			path = "M" + places.map(nth => point(nth, high)).concat(places.reverse().map(nth => point(nth, low))).join("L") + "Z";
		} else if (asDots) {
			path = known(low).map(nth => "M" + point(nth, low) + "h0").join("");
		} else {
			let previous = -2;
			for (const nth of known(low)) {
				path += (nth === previous + 1 ? "L" : "M") + point(nth, low);
				previous = nth;
			}
		}
		const node = model.cloneNode(false);
		for (const key of ["display", "transform"]) node.removeAttribute(key);
		node.setAttribute("class", model.getAttribute("class") + " zoomed");
		node.setAttribute("d", path);
		group.appendChild(node);
		// With room between them, the values themselves are seen.
		const apart = stepOf(x) / (this.view[1] - this.view[0]) * (this.right - this.left);
		if (kind === "line" && apart >= 5 && !hasDots) {
			const dots = group.appendChild(node.cloneNode(false));
			dots.setAttribute("stroke-linecap", "round");
			dots.removeAttribute("stroke-dasharray");
			dots.style.strokeWidth = Math.min(6, apart * 0.7);
			dots.setAttribute("d", known(low).map(nth => "M" + point(nth, low) + "h0").join(""));
		}
	}

	// The least and the greatest value in view; nothing if the panel has something without data, or percentages, whose whole is known.
	extent(panel) {
		if (panel.unit === "percent" || panel.series.some(series => !series.marks.length && series.group.childElementCount)) return null;
		let low = Infinity, high = -Infinity;
		const add = value => {
			if (!Number.isFinite(value) || (panel.isLog && value <= 0)) return;
			[low, high] = [Math.min(low, value), Math.max(high, value)];
		};
		const marks = panel.series.flatMap(series => series.marks), references = marks.filter(mark => mark.kind === "reference");
		for (const { x, low: lower, high: upper } of marks.filter(mark => mark.kind !== "reference")) {
			const first = Math.max(0, nearest(x, this.view[0]) - 1), last = Math.min(x.length, nearest(x, this.view[1]) + 2);
			for (const values of [lower, upper || []]) values.slice(first, last).forEach(add);
		}
		// A mean is shown with its values; a limit far above them is not.
		const [least, most] = [low / 1.5, high * 1.5];
		references.flatMap(mark => mark.low).filter(value => value >= least && value <= most).forEach(add);
		return high === -Infinity ? null : [low, high];
	}

	// Gives each panel the scale that the values in view ask for. Panels that have one scale keep one.
	fit(isZoomed) {
		const known = this.panels.map(panel => isZoomed ? this.extent(panel) : null), key = panel => panel.whole + panel.unit;
		const together = known.filter(Boolean), isShared = this.panels.every(panel => key(panel) === key(this.panels[0]));
		this.panels.forEach((panel, nth) => {
			const ends = together.length && isShared ? [Math.min(...together.map(e => e[0])), Math.max(...together.map(e => e[1]))] : known[nth];
			[panel.low, panel.high] = ends ? axisEnds(panel, ends) : panel.whole;
			if (this.levels[nth]) this.relevel(panel, this.levels[nth], Boolean(ends));
		});
	}

	// Labels and grid lines of the values that are shown, on the left and on the right.
	relevel(panel, { group, whole }, isFitted) {
		group.replaceChildren(...whole);
		if (!isFitted) return;
		const models = whole.filter(node => node.nodeType === 1), most = Math.min(8, Math.max(2, Math.floor(panel.height / 26)));
		group.replaceChildren();
		for (const isSecond of [false, true]) {
			const line = models.find(node => node.matches(isSecond ? ".s-axis" : ".s-grid"));
			const text = models.find(node => node.matches("text") && node.matches(".t-s") === isSecond);
			if (!line || !text) continue;
			const factor = isSecond ? panel.bytes / 1e6 : 1, [, x, width] = /^M([\d.]+) [\d.]+h([\d.]+)/.exec(line.getAttribute("d"));
			const places = axisTicks(panel.low * factor, panel.high * factor, panel.isLog, most).map(value => [value, this.heightOf(panel, value / factor)]);
			group.appendChild(line.cloneNode()).setAttribute("d", places.map(([, y]) => "M" + x + " " + y.toFixed(1) + "h" + width).join(""));
			for (const [value, y] of places) {
				const node = group.appendChild(text.cloneNode());
				node.setAttribute("y", (y + 4.5).toFixed(1));
				node.textContent = onAxis[isSecond ? "count" : panel.unit](value);
			}
		}
	}

	// Labels and grid lines of the part that is shown.
	retick({ group, whole }, isZoomed) {
		group.replaceChildren(...whole);
		const model = whole.find(node => node.nodeType === 1);
		if (!isZoomed || !model) return;
		const [a, b] = this.view, rough = (b - a) / 7, decade = 10 ** Math.floor(Math.log10(rough));
		const steps = rough > 10 ? [20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400] : [1, 2, 5, 10].map(f => f * decade);
		const by = steps.find(step => step >= rough) || steps[steps.length - 1];
		const isLong = this.to - this.from > 600, decimals = Math.max(0, -Math.floor(Math.log10(by) + 1e-9));
		group.replaceChildren();
		let path = "";
		for (let nth = Math.ceil(a / by - 1e-9); nth * by <= b; nth++) {
			const at = nth * by, x = this.placeOf(at).toFixed(1);
			if (model.tagName === "path") path += model.getAttribute("d").replace(/^M[\d.]+( [\d.]+v[\d.]+).*/, "M" + x + "$1");
			else {
				const node = group.appendChild(model.cloneNode());
				node.setAttribute("x", x);
				node.textContent = isLong ? moment(at, decimals) : at.toFixed(decimals);
			}
		}
		if (path) group.appendChild(model.cloneNode()).setAttribute("d", path);
	}

	listen() {
		const svg = this.svg;
		svg.addEventListener("pointermove", event => {
			if (event.pointerType === "touch" && !event.isPrimary) return;
			pointAt(this.timeAt(event));
		});
		svg.addEventListener("pointerdown", event => {
			if (event.button || event.target.closest(".name")) return;
			const at = this.timeAt(event);
			if (event.pointerType === "mouse") {
				this.drag = at;
				svg.setPointerCapture(event.pointerId);
				event.preventDefault();
				svg.focus({ preventScroll: true });
			}
			pointAt(at);
		});
		svg.addEventListener("pointerup", event => {
			const from = this.drag;
			this.drag = undefined;
			if (from === undefined) return;
			const to = this.timeAt(event), view = [Math.min(from, to), Math.max(from, to)];
			if (view[1] - view[0] > (this.view[1] - this.view[0]) / 60) zoomTo(view);
			else pointAt(to);
		});
		svg.addEventListener("pointercancel", () => { this.drag = undefined; });
		svg.addEventListener("pointerleave", () => { if (this.drag === undefined && document.activeElement !== svg) pointAt(null); });
		svg.addEventListener("blur", () => pointAt(null));
		svg.addEventListener("dblclick", () => zoomTo(null));
		svg.addEventListener("keydown", event => this.press(event));
	}

	press(event) {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const [a, b] = this.view, middle = state.cursor === null || state.cursor < a || state.cursor > b ? (a + b) / 2 : state.cursor;
		const scaled = factor => [middle - (middle - a) * factor, middle + (b - middle) * factor];
		const acts = {
			ArrowLeft: () => this.walk(event.shiftKey ? -10 : -1),
			ArrowRight: () => this.walk(event.shiftKey ? 10 : 1),
			Home: () => this.walk(-Infinity),
			End: () => this.walk(Infinity),
			"+": () => (b - a > (this.to - this.from) / 5000 ? zoomTo(scaled(0.5)) : 0),
			"=": () => acts["+"](),
			"-": () => {
				const [from, to] = scaled(2);
				zoomTo(from <= this.from && to >= this.to ? null : [Math.max(from, this.from), Math.min(to, this.to)]);
			},
			0: () => zoomTo(null),
		};
		if (!acts[event.key]) return;
		event.preventDefault();
		acts[event.key]();
	}

	// The cursor goes from value to value of the first series, or further where they are too close to be told apart.
	walk(steps) {
		this.read();
		const marks = this.panels.flatMap(panel => panel.series).flatMap(series => series.marks);
		const mark = marks.find(mark => ["line", "area", "dots"].includes(mark.kind) && mark.x.length > 1);
		if (!mark) return;
		const inView = mark.x.filter(at => at >= this.view[0] && at <= this.view[1]);
		if (!inView.length) return;
		const each = Math.max(1, Math.floor(inView.length / 300));
		const now = state.cursor === null ? (steps > 0 ? -1 : inView.length) : nearest(inView, state.cursor);
		const next = Math.min(inView.length - 1, Math.max(0, now + steps * each));
		tell(pointAt(inView[next], this));
	}
}

const charts = all("svg[data-panels]").map(svg => new Chart(svg));
const pointAt = (at, speaker) => {
	state.cursor = at;
	let said = "";
	for (const chart of charts) {
		// A chart out of sight has at most an old cursor, which goes before it is seen.
		if (!chart.isVisible()) { chart.overlay.replaceChildren(); continue; }
		const words = chart.drawCursor();
		if (chart === speaker) said = words;
	}
	return said;
};
const zoomTo = view => {
	state.view = view;
	for (const chart of charts) if (chart.isVisible()) chart.zoom();
	page.toggleAttribute("data-zoomed", Boolean(view));
	pointAt(state.cursor);
	tell(view ? "shown: " + moment(view[0], 2) + " to " + moment(view[1], 2) : "the whole time is shown");
};
// Charts out of sight follow when they come into sight.
const seen = new IntersectionObserver(entries => {
	for (const entry of entries) if (entry.isIntersecting) charts.find(chart => chart.svg === entry.target).zoom();
});
charts.forEach(chart => seen.observe(chart.svg));
addEventListener("scroll", () => { if (state.cursor !== null) pointAt(state.cursor); }, { passive: true });
addEventListener("beforeprint", () => { pointAt(null); zoomTo(null); charts.forEach(chart => chart.zoom()); });
