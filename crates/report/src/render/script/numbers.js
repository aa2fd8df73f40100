// Script of the page, 2 of 6: numbers as the axes write them, with three digits.

const digits = value => {
	const size = Math.abs(value);
	const [scale, suffix] = size >= 999.5e6 ? [1e9, "G"] : size >= 999.5e3 ? [1e6, "M"] : size >= 999.5 ? [1e3, "k"] : [1, ""];
	const text = (value / scale).toPrecision(3);
	return (text.includes("e") ? String(Number(text)) : text) + suffix;
};
const time = ns => {
	const [scale, unit] = ns >= 999.5e6 ? [1e9, "s"] : ns >= 999.5e3 ? [1e6, "ms"] : ns >= 999.5 ? [1e3, "us"] : [1, "ns"];
	return (ns / scale).toPrecision(3) + " " + unit;
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
