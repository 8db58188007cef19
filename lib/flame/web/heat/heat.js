/* The time that is dragged over on the heat map, as the flame graph below it. */
const grid = document.getElementById("pieces");
const number = (name) => Number(grid.dataset[name]);
const COLUMN = number("column"), ROW = number("row"), ROWS = number("rows");
const PIECES = number("columns") * ROWS;

async function inflate(text) {
	const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
	const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
	return new Uint8Array(await new Response(plain).arrayBuffer());
}

/* The format is told in lib/flame/heatmap.c. */
function readStream(bytes, at, count) {
	const size = new DataView(bytes.buffer).getUint32(at, true);
	const array = new Float64Array(count);
	let p = at + 4;
	for (let i = 0; i < count; i++) {
		let byte = bytes[p++];
		let value = byte & 127;
		for (let scale = 128; byte > 127; scale *= 128) {
			byte = bytes[p++];
			value += (byte & 127) * scale;
		}
		array[i] = value;
	}
	return [array, at + 4 + size];
}

async function readSlices() {
	const element = document.getElementById("slices");
	const count = Number(element.dataset.count);
	const bytes = await inflate(element.textContent);
	let pieces, nodes, values, at = 0;
	[pieces, at] = readStream(bytes, at, count);
	[nodes, at] = readStream(bytes, at, count);
	[values, at] = readStream(bytes, at, count);
	for (let i = 1; i < count; i++) {
		if (!pieces[i])
			nodes[i] += nodes[i - 1];
		pieces[i] += pieces[i - 1];
	}
	return { pieces, nodes, values, count };
}

function seconds(piece) {
	const ns = number("begin") + piece * number("piece");
	return Number((ns / 1e9).toFixed(9)) + " s";
}

const ready = Promise.all([readSlices(), window.flame]);
const marks = grid.appendChild(document.createElementNS(grid.namespaceURI, "path"));
marks.setAttribute("class", "range");

/* Pieces [from, to); all when it is empty. */
async function show(from, to) {
	const [slices, app] = await ready;
	const self = new Float64Array(app.tree.count);
	for (let i = 0; i < slices.count; i++) {
		if (from >= to || (slices.pieces[i] >= from && slices.pieces[i] < to))
			self[slices.nodes[i]] += slices.values[i];
	}
	app.tree.selves[0] = self;
	app.tree.header.note = from >= to ? "all of the time; drag over the map above for a part"
		: seconds(from) + " to " + seconds(to);
	app.page.title.textContent = app.tree.header.title;
	app.change({ metric: app.state.metric });
	app.zoomTo(0, true);
}

function mark(from, to) {
	let path = "";
	for (let column = Math.floor(from / ROWS); from < to && column <= (to - 1) / ROWS; column++) {
		const low = Math.max(from, column * ROWS) - column * ROWS;
		const high = Math.min(to, (column + 1) * ROWS) - column * ROWS;
		path += `M${column * COLUMN} ${(ROWS - high) * ROW}h${COLUMN}v${(high - low) * ROW}h-${COLUMN}z`;
	}
	marks.setAttribute("d", path);
}

/* Time runs up a column, then on in the next one. */
function pieceAt(event) {
	const matrix = grid.getScreenCTM().inverse();
	const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
	const column = Math.max(0, Math.min(number("columns") - 1, Math.floor(point.x / COLUMN)));
	const row = Math.max(0, Math.min(ROWS - 1, ROWS - 1 - Math.floor(point.y / ROW)));
	return Math.min(PIECES - 1, column * ROWS + row);
}

let start = null;
const range = (event) => {
	const end = pieceAt(event);
	return start <= end ? [start, end + 1] : [end, start + 1];
};
grid.style.cursor = "crosshair";
grid.addEventListener("pointerdown", (event) => {
	if (event.button)
		return;
	start = pieceAt(event);
	grid.setPointerCapture(event.pointerId);
	event.preventDefault();
	mark(...range(event));
});
grid.addEventListener("pointermove", (event) => {
	if (start !== null)
		mark(...range(event));
});
grid.addEventListener("pointerup", (event) => {
	if (start === null)
		return;
	const [from, to] = range(event);
	start = null;
	/* A click on what is already the range, or beside everything, shows all again. */
	const again = to - from === 1 && grid.dataset.range === from + "-" + to;
	grid.dataset.range = again ? "" : from + "-" + to;
	mark(again ? 0 : from, again ? 0 : to);
	window.heat = show(again ? 0 : from, again ? 0 : to);
});
window.heat = ready;
