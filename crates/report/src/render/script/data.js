// Script of the page, 3 of 6: the data of the charts; packed.rs describes the form of a column.

const source = document.getElementById("chart-data");
const data = source ? JSON.parse(source.textContent) : { columns: [], figures: {} };
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const items = text => {
	const found = [];
	let number = 0, factor = 1, repeat = false;
	for (const letter of text) {
		if (letter === ".") { found.push(null); continue; }
		if (letter === "~") { repeat = true; continue; }
		const bits = LETTERS.indexOf(letter);
		number += (bits & 31) * factor;
		factor *= 32;
		if (bits > 31) continue;
		const value = (number % 2 ? -1 : 1) * Math.floor(number / 2);
		if (repeat) for (let n = 0; n < value; n++) found.push(found[found.length - 1]);
		else found.push(value);
		[number, factor, repeat] = [0, 1, false];
	}
	return found;
};
const unpackTimes = text => {
	let at = 0, step = 0;
	return items(text).map(change => (at += step += change) / 1000);
};
const float = new Float32Array(1), bitsOf = new Uint32Array(float.buffer);
const unpackValues = text => {
	let code = 0;
	return items(text).map(step => {
		if (step === null) return NaN;
		code += step;
		bitsOf[0] = Math.abs(code) << 11;
		return code < 0 ? -float[0] : float[0];
	});
};
const unpacked = new Map();
const column = (place, unpack) => {
	const key = place + unpack.name;
	if (!unpacked.has(key)) unpacked.set(key, unpack(data.columns[place]));
	return unpacked.get(key);
};
const KINDS = { r: "reference", l: "line", d: "dots", o: "rings", a: "area", b: "band" };
// A mark with its columns: x, and y or low and high.
const readMark = ([kind, [x, ...ys]]) => {
	const [low, high] = ys.map(y => column(y, unpackValues));
	return { kind: KINDS[kind], x: column(x, unpackTimes), low, high };
};
// The place in sorted `x` of the value nearest to `at`; -1 if there are none.
const nearest = (x, at) => {
	let from = 0, to = x.length;
	while (from < to) {
		const middle = (from + to) >> 1;
		if (x[middle] < at) from = middle + 1; else to = middle;
	}
	return from > 0 && (from === x.length || at - x[from - 1] <= x[from] - at) ? from - 1 : Math.min(from, x.length - 1);
};
const stepOf = x => x.length > 1 ? (x[x.length - 1] - x[0]) / (x.length - 1) : Infinity;
