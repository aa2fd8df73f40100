// Charts over time share a cursor (c: chart, e: event). Drag to zoom all of them, double-click to see everything.
(() => {
	const make = (c, name, kind) => {
		const node = document.createElementNS(c.svg.namespaceURI, name);
		node.setAttribute("class", kind);
		node.style.display = "none";
		return c.svg.appendChild(node);
	};
	const set = (node, values) => {
		for (const key in values) node.setAttribute(key, values[key]);
		node.style.display = "";
	};
	const charts = [...document.querySelectorAll("svg[data-from]")].map(svg => {
		const c = { svg };
		for (const key of ["left", "right", "top", "bottom", "from", "to"]) c[key] = Number(svg.dataset[key]);
		c.view = [c.from, c.to];
		c.ticks = [...svg.querySelectorAll(".ticks")].map(group => ({ group, first: group.cloneNode(true) }));
		c.range = make(c, "rect", "range");
		c.cursor = make(c, "line", "cursor");
		c.moment = make(c, "text", "moment");
		return c;
	});
	const place = (c, time) =>
		c.left + (time - c.view[0]) / (c.view[1] - c.view[0]) * (c.right - c.left);
	const time = (c, e) => {
		const box = c.svg.getBoundingClientRect();
		const x = (e.clientX - box.left) / box.width * c.svg.viewBox.baseVal.width;
		const part = Math.min(1, Math.max(0, (x - c.left) / (c.right - c.left)));
		return c.view[0] + part * (c.view[1] - c.view[0]);
	};
	const point = t => charts.forEach(c => {
		const x = place(c, t), inside = x >= c.left - 1 && x <= c.right + 1;
		c.cursor.style.display = c.moment.style.display = "none";
		if (!inside) return;
		set(c.cursor, { x1: x, x2: x, y1: c.top, y2: c.bottom });
		const flip = x > (c.left + c.right) / 2;
		set(c.moment, { x: x + (flip ? -6 : 6), y: c.top + 14, "text-anchor": flip ? "end" : "start" });
		c.moment.textContent = t.toFixed(2) + " s";
	});
	const step = span => {
		const rough = span / 7, decade = 10 ** Math.floor(Math.log10(rough));
		return [1, 2, 5, 10].map(f => f * decade).find(s => s >= rough);
	};
	const retick = (c, { group, first }, zoomed) => {
		group.replaceChildren(...first.cloneNode(true).childNodes);
		if (!zoomed || !first.firstElementChild) return;
		const model = first.firstElementChild, [a, b] = c.view, by = step(b - a), nodes = [];
		for (let i = Math.ceil(a / by); i * by <= b; i++) {
			const node = model.cloneNode(true), x = place(c, i * by);
			if (node.tagName === "path") {
				node.setAttribute("d", model.getAttribute("d").replace(/([ML])[\d.]+/g, (_, letter) => letter + x));
			} else {
				node.setAttribute("x", x);
				node.textContent = String(Number((i * by).toPrecision(6)));
			}
			nodes.push(node);
		}
		group.replaceChildren(...nodes);
	};
	const show = range => charts.forEach(c => {
		const whole = [c.from, c.to];
		const cut = range && [Math.max(range[0], c.from), Math.min(range[1], c.to)];
		const zoomed = cut && cut[1] > cut[0];
		c.view = zoomed ? cut : whole;
		const k = (c.to - c.from) / (c.view[1] - c.view[0]);
		const shift = place(c, c.from) - k * c.left;
		c.svg.querySelectorAll(".plot").forEach(p => p.setAttribute("transform", `matrix(${k} 0 0 1 ${shift} 0)`));
		c.ticks.forEach(t => retick(c, t, zoomed));
	});
	charts.forEach(c => {
		let from = null;
		const svg = c.svg;
		svg.addEventListener("pointermove", e => {
			const t = time(c, e);
			point(t);
			if (from === null) return;
			const [a, b] = [place(c, Math.min(from, t)), place(c, Math.max(from, t))];
			set(c.range, { x: a, width: b - a, y: c.top, height: c.bottom - c.top });
		});
		svg.addEventListener("pointerdown", e => {
			if (e.pointerType === "mouse") {
				from = time(c, e);
				svg.setPointerCapture(e.pointerId);
				e.preventDefault();
			}
		});
		svg.addEventListener("pointerup", e => {
			if (from === null) return;
			const t = time(c, e), [a, b] = [Math.min(from, t), Math.max(from, t)];
			from = null;
			c.range.style.display = "none";
			if (b - a > (c.view[1] - c.view[0]) / 50) show([a, b]);
		});
		svg.addEventListener("dblclick", () => show(null));
		svg.addEventListener("pointerleave", () => point(NaN));
	});
	document.documentElement.classList.add("scripted");
})();
