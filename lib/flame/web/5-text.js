/* Numbers and names as a reader sees them; the same as lib/flame/text.c. */
function count(value) {
	return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

function scaled(value, unit) {
	return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0) + " " + unit;
}

function amount(value, unit) {
	if (unit === "ns" && value >= 1000) {
		if (value < 1e6)
			return scaled(value / 1e3, "\u00b5s");
		return value < 1e9 ? scaled(value / 1e6, "ms") : scaled(value / 1e9, "s");
	}
	if (unit === "bytes" && value >= 1024) {
		const units = ["KiB", "MiB", "GiB", "TiB"];
		let i = 0;
		for (value /= 1024; value >= 1024 && i < 3; i++)
			value /= 1024;
		return scaled(value, units[i]);
	}
	return count(value) + (unit ? " " + unit : "");
}

function share(part, whole) {
	const percent = whole ? 100 * part / whole : 0;
	if (part === whole && whole)
		return "100 %";
	if (part && percent < 0.1)
		return "< 0.1 %";
	return percent.toFixed(1) + " %";
}

/* Characters that fonts draw two columns wide. */
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/* As much of @text as fits into @columns. */
function fit(text, columns) {
	/* Names can be megabytes long. */
	const start = text.slice(0, columns + 1);
	if (/^[\x20-\x7e]*$/.test(start))
		return start.slice(0, columns);
	let used = 0, at = 0;
	for (const c of start) {
		used += WIDE.test(c) ? 2 : 1;
		if (used > columns)
			break;
		at += c.length;
	}
	return start.slice(0, at);
}

function label(name, kind, columns) {
	if (columns < 3)
		return "";
	if (kind === KIND.instruction && name.length > columns)
		name = name.replace(/^0x[0-9a-f]+: (?=.)/, "");
	while (kind === KIND.cxx && name.length > columns) {
		const scope = /^[^<(: ]*::(?=.)/.exec(name.slice(0, 1000));
		if (!scope)
			break;
		name = name.slice(scope[0].length);
	}
	const all = fit(name, columns);
	return all.length === name.length ? all : fit(name, columns - 2) + "..";
}

/* A number for a text (FNV-1a, 32 bits), to name frames in the address without their names. */
function hash(text) {
	let h = 0x811c9dc5;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
	return (h >>> 0).toString(36);
}
