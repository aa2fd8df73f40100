// Script of the page, 2 of 6: numbers as the axes write them, with three digits.

const scaleOf = value => {
	const size = Math.abs(value);
	return size >= 999.5e6 ? [1e9, "G"] : size >= 999.5e3 ? [1e6, "M"] : size >= 999.5 ? [1e3, "k"] : [1, ""];
};
const digits = value => {
	const [scale, suffix] = scaleOf(value), text = (value / scale).toPrecision(3);
	return (text.includes("e") ? String(Number(text)) : text) + suffix;
};
const timeScaleOf = ns => ns >= 999.5e6 ? [1e9, "s"] : ns >= 999.5e3 ? [1e6, "ms"] : ns >= 999.5 ? [1e3, "us"] : [1, "ns"];
const time = ns => {
	const [scale, unit] = timeScaleOf(ns);
	return (ns / scale).toPrecision(3) + " " + unit;
};
// As short as a label of an axis can be: 20k, 1.5 ms.
const short = (value, [scale, unit]) => Number((value / scale).toPrecision(4)) + unit;
const onAxis = {
	count: value => short(value, scaleOf(value)),
	nanos: ns => short(ns, timeScaleOf(ns)).replace(/(?=[a-z])/, " "),
	percent: value => short(value, [1, " %"]),
	seconds: value => short(value, [1, ""]),
};
// The least 1, 2 or 5 times a power of ten that is not below a value, or the greatest that is not above it.
const roundUp = value => [1, 2, 5, 10].map(step => step * 10 ** Math.floor(Math.log10(value))).find(step => step >= value * 0.999999);
const roundDown = value => [5, 2, 1].map(step => step * 10 ** Math.floor(Math.log10(value))).find(step => step <= value * 1.000001);
// The ends of an axis for values from low to high: a linear one keeps its lower end.
const axisEnds = ({ isLog, whole }, [low, high]) => {
	if (isLog) return [roundDown(0.9 * low), roundUp(Math.max(high, 1.01 * low))];
	return [Math.min(whole[0], low), high > 0 ? high * 1.06 : 1];
};
// At most so many ticks of an axis, at round values.
const axisTicks = (low, high, isLog, most) => {
	const multiples = factors => {
		const found = [];
		for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) found.push(...factors.map(factor => factor * 10 ** power));
		return found.filter(value => value >= low * 0.999 && value <= high * 1.001);
	};
	if (isLog) {
		const choices = [[1, 2, 5], [1, 3], [1]].map(multiples), decades = choices[2];
		const fitting = choices.find(ticks => ticks.length > 1 && ticks.length <= most);
		if (fitting) return fitting;
		if (decades.length > 1) return decades.filter((_, nth) => nth % Math.ceil(decades.length / most) === 0);
	}
	const step = roundUp((high - low) / most), ticks = [];
	for (let nth = Math.ceil(low / step - 1e-9); nth * step <= high * (1 + 1e-9); nth++) ticks.push(nth * step);
	return ticks;
};
const inUnit = {
	count: digits,
	nanos: time,
	percent: value => value.toFixed(1) + " %",
	seconds: value => value.toFixed(2) + " s",
};
// 12.5 s; from a minute on as a clock shows it, 1:02:03.5.
const moment = (seconds, decimals) => {
	const size = Math.abs(seconds), sign = seconds < 0 ? "-" : "";
	if (size < 600) return seconds.toFixed(decimals) + " s";
	const pad = (value, places) => value.toFixed(places).padStart(places ? 3 + places : 2, "0");
	const h = Math.floor(size / 3600), m = Math.floor(size / 60) % 60;
	return sign + (h ? h + ":" + pad(m, 0) : m) + ":" + pad(size % 60, decimals);
};
