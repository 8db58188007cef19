/*
 * What is seen of a view, as rectangles and as SVG elements. Elements are kept and reused; frames
 * without a label are strokes of one path for each colour. Frames below half a pixel are not
 * drawn one by one: neighbours of one colour are a run.
 */
const SVG = "http://www.w3.org/2000/svg";
const ROW = 16;
const THIN = 0.5; /* pixels; what is thinner is part of a run */
const HAIR = 0.1; /* pixels; what is above something thinner is not drawn */
const LABELLED = 24; /* pixels: room for three columns */
const FOLDED = " \u2026"; /* behind the name of a frame that others are folded into */
const ROWS_MAX = 1500; /* beyond 32767 pixels browsers cannot draw; deeper frames come by zooming */

function svgElement(name, attributes = {}) {
	const element = document.createElementNS(SVG, name);
	for (const key in attributes)
		element.setAttribute(key, attributes[key]);
	return element;
}

/* The class of a frame's colour, as lib/flame/still.c writes it. */
function colourClass(tree, frame, isThin) {
	const kind = tree.kind[frame];
	const extra = kind === KIND.idle ? " idle" : kind === KIND.missing ? " missing" : "";
	const own = kind === KIND.python && tree.class[frame] === CLASS_OWN && !isThin ? " own" : "";
	return String.fromCharCode(97 + kind) + (extra ? 0 : isThin ? 3 : tree.shade[frame]) + extra + own;
}

/* The same for a change between two profiles, as lib/flame/look.c does it. */
const NOISE = 1 / 1000; /* of everything */

function isNoise(now, base, all) {
	return now === base || Math.abs(now - base) < Math.floor(all * NOISE);
}

function changeClass(now, base, all) {
	if (isNoise(now, base, all))
		return "r0";
	const shade = Math.floor(Math.abs(now - base) / Math.max(now, base) * 7);
	return now > base ? "p" + shade + (base ? "" : " new") : "q" + shade + (now ? "" : " gone");
}

function changeText(now, base, all) {
	if (isNoise(now, base, all))
		return "";
	if (!now || !base)
		return now ? "new" : "gone";
	const percent = 100 * (now - base) / base;
	return (percent > 0 ? "+" : "") + percent.toFixed(Math.abs(percent) < 10 ? 1 : 0) + " %";
}

class Picture {
	constructor(canvas, tree) {
		this.canvas = canvas;
		this.looks = new Array(tree.names.length);
		this.thinLooks = new Array(tree.names.length);
		this.thin = canvas.appendChild(svgElement("g", { class: "thin" }));
		this.wide = canvas.appendChild(svgElement("g"));
		this.hover = this.addOverlay("hover");
		this.focus = this.addOverlay("focus");
		this.focus.id = "flame-focus";
		this.focus.setAttribute("role", "treeitem");
		this.pool = [];
		this.paths = new Map();
		this.boxes = [];
	}

	addOverlay(name) {
		const group = this.canvas.appendChild(svgElement("g", { class: name, visibility: "hidden" }));
		group.append(svgElement("rect", { height: ROW - 1 }));
		return group;
	}

	/*
	 * Boxes: { v, row, x, width, look }, in each row from left to right. A run has a count, and
	 * @v is the first of it; "single" when all are children of one node.
	 */
	layout(view, zoom, width, search) {
		this.view = view;
		this.zoom = zoom;
		this.width = width;
		this.search = search;
		this.boxes = [];
		this.rows = [];
		this.runs = []; /* by row: the one that the next thin frame may belong to */
		const path = view.path(zoom);
		path.forEach((v, row) => this.addBox({ v, row, x: 0, width, look: this.look(v),
			above: row < path.length - 1 }));
		this.scale = width / view.column("value")[zoom];
		this.start = view.column("x")[zoom];
		this.tooDeep = false;

		/* Depth first by a stack of our own: stacks can be thousands of frames deep. */
		const todo = [[zoom, path.length]];
		while (todo.length) {
			const [v, row] = todo.pop();
			if (row >= ROWS_MAX) {
				this.tooDeep = true;
				continue;
			}
			const seen = this.layoutKids(v, row);
			for (let i = seen.length - 1; i >= 0; i--)
				todo.push([seen[i], row + 1]);
		}
		this.runs.forEach((run, row) => this.endRun(row));
		this.byNode = new Map(this.boxes.map((box) => [box.count ? -1 : box.v, box]));
	}

	/* Returns the children that something may be seen above. */
	layoutKids(v, row) {
		const view = this.view;
		const seen = [];
		view.expand(v);
		/* Columns move when they grow, so they are looked up after expanding. */
		const xs = view.column("x"), values = view.column("value");
		const first = view.column("kids")[v], end = first + view.column("kidCount")[v];
		for (let kid = first; kid < end; kid++) {
			const x = (xs[kid] - this.start) * this.scale;
			const width = values[kid] * this.scale;
			if (width >= THIN) {
				this.endRun(row);
				this.addBox({ v: kid, row, x, width, look: this.look(kid) });
			} else {
				this.addToRun(v, kid, row, x, width);
			}
			if (width >= HAIR)
				seen.push(kid);
		}
		return seen;
	}

	addToRun(v, kid, row, x, width) {
		let run = this.runs[row];
		const look = this.look(kid, true);
		if (run && (run.look !== look || x - (run.x + run.width) > HAIR))
			run = this.endRun(row);
		if (run) {
			run.count++;
			run.width = x + width - run.x;
			run.single = run.single && run.parent === v;
		} else {
			this.runs[row] = { v: kid, row, x, width, look, count: 1, parent: v, single: true };
		}
	}

	endRun(row) {
		const run = this.runs[row];
		if (run && run.width >= HAIR)
			this.addBox(run);
		this.runs[row] = undefined;
		return undefined;
	}

	/* The class that colours a node. */
	look(v, isThin) {
		const frame = this.view.column("frame")[v];
		if (frame === RUN)
			return "more";
		if (this.search && this.search.matches(v))
			return "match";
		if (this.view.sides.length)
			return changeClass(this.view.column("now")[v], this.view.column("base")[v], this.view.sides[0].totals[ROOT]);
		/* Of each frame made once: a hundred thousand may be thin. */
		const looks = isThin ? this.thinLooks : this.looks;
		return looks[frame] || (looks[frame] = colourClass(this.view.tree, frame, isThin));
	}

	addBox(box) {
		(this.rows[box.row] = this.rows[box.row] || []).push(box);
		this.boxes.push(box);
	}

	/* The box at a place, in pixels of the canvas. */
	boxAt(x, y) {
		const row = Math.floor(this.inverted ? y / ROW : (this.height - y) / ROW);
		const boxes = this.rows[row] || [];
		let low = 0, high = boxes.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (boxes[middle].x + boxes[middle].width <= x)
				low = middle + 1;
			else
				high = middle;
		}
		return boxes[low] && boxes[low].x <= x ? boxes[low] : null;
	}

	/* The nearest frame that a run stands on. */
	nodeBelow(run) {
		const x = run.x + run.width / 2;
		for (let row = run.row - 1; row > 0; row--) {
			const box = this.rows[row].find((other) => other.x <= x && x < other.x + other.width);
			if (box && !box.count)
				return box.v;
		}
		return this.zoom;
	}

	boxOf(v) {
		return this.byNode.get(v);
	}

	y(row) {
		return this.inverted ? row * ROW : this.height - (row + 1) * ROW;
	}

	paint(inverted, charWidth) {
		this.inverted = inverted;
		this.height = this.rows.length * ROW;
		this.canvas.setAttribute("height", this.height);
		this.used = 0;
		const strokes = new Map();
		for (const box of this.boxes)
			this.paintBox(box, charWidth, strokes);
		for (let i = this.used; i < this.pool.length && this.pool[i].shown; i++) {
			this.pool[i].shown = false;
			this.pool[i].group.setAttribute("visibility", "hidden");
		}
		this.paintStrokes(strokes);
	}

	paintBox(box, charWidth, strokes) {
		const className = box.above ? box.look + " above" : box.look;
		/* Strokes cannot be hatched. */
		const isHatched = box.width >= 4 && / (idle|missing|new|gone)$/.test(box.look);
		if (box.width < LABELLED && !isHatched) {
			this.paintStroke(box, className, strokes);
			return;
		}
		const item = this.item();
		const y = this.y(box.row);
		const text = this.label(box, charWidth);
		item.group.setAttribute("class", className);
		item.rect.setAttribute("x", box.x.toFixed(1));
		item.rect.setAttribute("y", y);
		item.rect.setAttribute("width", (box.width - 0.5).toFixed(1));
		item.text.setAttribute("x", (Math.max(0, box.x) + 3).toFixed(1));
		item.text.setAttribute("y", y + 11);
		if (item.text.textContent !== text)
			item.text.textContent = text;
	}

	item() {
		let item = this.pool[this.used++];
		if (!item) {
			const group = svgElement("g");
			const rect = svgElement("rect", { height: ROW - 1 });
			const text = svgElement("text");
			group.append(rect, text);
			this.wide.append(group);
			item = { group, rect, text };
			this.pool.push(item);
		}
		if (!item.shown) {
			item.shown = true;
			item.group.removeAttribute("visibility");
		}
		return item;
	}

	/* In tenths of a pixel and rows, as lib/flame/still.c does it. */
	paintStroke(box, className, strokes) {
		const gap = box.width > 3 ? 5 : 0;
		const row = this.inverted ? box.row : this.rows.length - 1 - box.row;
		const stroke = "M" + Math.round(box.x * 10) + " " + row + "h" +
			Math.max(1, Math.round(box.width * 10) - gap);
		const list = strokes.get(className);
		if (list)
			list.push(stroke);
		else
			strokes.set(className, [stroke]);
	}

	label(box, charWidth) {
		const tree = this.view.tree;
		const frame = this.view.column("frame")[box.v];
		if (box.count)
			return "";
		if (frame === RUN)
			return count(this.view.column("kidCount")[box.v]) + " thin frames";
		const columns = Math.floor((box.width - 6) / charWidth);
		let text = label(tree.names[frame], tree.kind[frame], columns);
		for (const more of [this.foldText(box.v), this.partText(box.v)]) {
			if (text.length + more.length <= columns)
				text += more;
		}
		return text;
	}

	/* Where a tower ends only because what is on it is folded. */
	foldText(v) {
		const isEnd = this.view.column("folds")[v] && this.view.own(v) > this.view.column("value")[v] / 2;
		return isEnd ? FOLDED : "";
	}

	/* The share, where a tower gets narrower or ends. */
	partText(v) {
		const value = this.view.column("value");
		const above = this.view.column("above")[v];
		if (above < 0 || value[v] < this.view.total * 0.01)
			return "";
		if (value[v] > value[above] * 0.98 && this.view.own(v) < value[v] / 2)
			return "";
		if (this.view.sides.length) {
			const text = changeText(this.view.column("now")[v], this.view.column("base")[v], this.view.sides[0].totals[ROOT]);
			return text && "  " + text;
		}
		return "  " + share(value[v], this.view.total);
	}

	paintStrokes(strokes) {
		this.thin.setAttribute("transform", `translate(0 ${ROW / 2}) scale(.1 ${ROW})`);
		for (const [className, path] of this.paths) {
			if (!strokes.has(className))
				path.setAttribute("d", "");
		}
		for (const [className, list] of strokes) {
			let path = this.paths.get(className);
			if (!path) {
				path = this.thin.appendChild(svgElement("path", { class: className }));
				this.paths.set(className, path);
			}
			path.setAttribute("d", list.join(""));
		}
	}

	mark(overlay, box) {
		overlay.setAttribute("visibility", box ? "visible" : "hidden");
		if (!box)
			return;
		const rect = overlay.firstChild;
		rect.setAttribute("x", box.x.toFixed(1));
		rect.setAttribute("y", this.y(box.row));
		rect.setAttribute("width", Math.max(1, box.width - 0.5).toFixed(1));
	}
}
