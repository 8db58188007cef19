/* What the reader does, and what is then shown. */
class App {
	constructor(tree, svg) {
		this.tree = tree;
		this.page = new Page(tree);
		this.page.install(svg, tree.header.fluid);
		this.picture = new Picture(this.page.canvas, tree);
		this.picture.inverted = false;
		this.listen();
		this.restore();
	}

	/* From the address. */
	restore() {
		const state = fragmentToState(location.hash, this.tree.header);
		this.state = state;
		this.makeView();
		this.zoom = this.follow(state.at);
		this.page.search.value = state.text;
		this.find(state.text);
		this.draw();
		this.scrollToZoom();
	}

	remember(isStep) {
		this.state.at = this.view.path(this.zoom).slice(1)
			.filter((v) => this.view.column("frame")[v] !== RUN)
			.map((v) => hash(this.nameOf(v)));
		const url = "#" + stateToFragment(this.state, this.tree.header);
		if (url === (location.hash || "#"))
			return;
		try {
			history[isStep ? "pushState" : "replaceState"](null, "", url);
		} catch (error) {
			/* In a sandboxed frame there is no address to keep. */
		}
	}

	/* The deepest node along a path of hashes. */
	follow(hashes) {
		const view = this.view;
		let v = ROOT;
		for (const wanted of hashes) {
			view.expand(v);
			const first = view.column("kids")[v], end = first + view.column("kidCount")[v];
			let kid = first;
			while (kid < end && hash(this.nameOf(kid)) !== wanted)
				kid++;
			if (kid === end)
				break;
			v = kid;
		}
		return v;
	}

	makeView() {
		const { metric, hidden, full, byLeaf } = this.state;
		let view = new View(this.tree, { metric, hidden, full, byLeaf });
		if (!view.total) {
			/* Never an empty picture: all that has a value is hidden. */
			this.state.hidden = 0;
			view = new View(this.tree, { metric, hidden: 0, full, byLeaf });
		}
		this.view = view;
		this.tallest = 0;
		this.shares = this.tree.shares(view.self);
		this.widest = view.remarkable();
		this.focused = ROOT;
		if (this.search)
			this.search.run(view);
	}

	/* Change how the tree is looked at, and stay at the frame that is zoomed into. */
	change(changes) {
		const head = this.view.column("head")[this.zoom];
		const wasByLeaf = this.state.byLeaf;
		Object.assign(this.state, changes);
		if (["metric", "hidden", "full", "byLeaf"].some((key) => key in changes)) {
			this.makeView();
			this.zoom = wasByLeaf || this.state.byLeaf || head < 0 ? ROOT : Math.max(ROOT, this.view.find(head));
		}
		this.draw();
		this.scrollToZoom();
		this.remember();
	}

	nameOf(v) {
		const frame = this.view.column("frame")[v];
		return frame === RUN ? count(this.view.column("kidCount")[v]) + " thin frames" : this.tree.names[frame];
	}

	zoomTo(v, isQuiet) {
		this.zoom = v;
		this.focused = v;
		this.point(false);
		this.draw();
		this.scrollToZoom();
		if (!isQuiet)
			this.remember(true);
	}

	find(text) {
		const input = this.page.search;
		this.state.text = text;
		this.search = text ? new Search(this.tree, text, this.state.matchesCase) : null;
		if (this.search)
			this.search.run(this.view);
		const fault = this.search && this.search.fault;
		input.setAttribute("aria-invalid", fault ? "true" : "false");
		input.title = fault ? fault + ": searched as plain text" : "";
	}

	/* To the next match in order of width, zooming so far that it can be read. */
	step(by) {
		const READABLE = 60;
		const places = this.search ? this.search.placesInView() : [];
		if (!places.length)
			return;
		const at = this.search.at < 0 && by < 0 ? 0 : this.search.at;
		this.search.at = (at + by + places.length) % places.length;
		const v = places[this.search.at];
		const value = this.view.column("value");
		const path = this.view.path(v);
		const width = this.picture.width;
		let zoom = path.includes(this.zoom) && value[v] / value[this.zoom] * width >= READABLE ? this.zoom
			: path.find((above) => value[v] / value[above] * width >= READABLE);
		this.zoom = zoom;
		this.focused = v;
		this.point(true);
		this.draw();
		this.scrollTo(v);
		this.remember(true);
	}

	draw() {
		const { page, picture, view, state } = this;
		const width = this.canvasWidth();
		picture.layout(view, this.zoom, width, this.search);
		picture.paint(state.inverted, page.charWidth);
		/* As high as what is in it, but never lower than it was: the root does not jump when zooming. */
		this.tallest = Math.max(this.tallest, picture.height);
		page.main.style.flexBasis = this.tallest + "px";
		/* What the mouse rests on is another frame now, until it moves. */
		this.onLeave();
		this.showFocus();
		this.showState();
	}

	canvasWidth() {
		return Math.max(100, this.page.main.clientWidth);
	}

	showState() {
		const { page, state, tree, view } = this;
		const metric = tree.metrics[state.metric];
		const what = view.sides.length ? "what changed" : metric.meaning + this.sharesText();
		page.note.textContent = amount(this.total(), metric.unit) + ": " + what +
			(tree.header.note ? "; " + tree.header.note : "");
		page.widest.hidden = this.widest === ROOT;
		page.widest.textContent = page.widest.hidden ? "" : this.widestText();
		page.metric.value = state.metric;
		page.reset.disabled = this.zoom === ROOT;
		page.everything.disabled = !state.hidden && (state.full || !page.canFold);
		page.icicle.setAttribute("aria-pressed", state.inverted);
		page.byLeaf.setAttribute("aria-pressed", state.byLeaf);
		page.framework.setAttribute("aria-pressed", state.full);
		page.canvas.classList.toggle("grows", !state.inverted);
		page.caseToggle.setAttribute("aria-pressed", state.matchesCase);
		page.previous.disabled = page.following.disabled = !(this.search && this.search.tops.length);
		for (const name in page.layers) {
			page.layers[name].setAttribute("aria-pressed", !(state.hidden >> KIND[name] & 1));
		}
		page.showCrumbs(view.path(this.zoom).map((v) => this.nameOf(v)),
			(i) => this.zoomTo(view.path(this.zoom)[i]));
		page.matched.textContent = this.matchedText();
	}

	/* What shares are of. */
	total() {
		return this.view.sides.length ? this.view.sides[0].totals[ROOT] : this.view.total;
	}

	valueOf(v) {
		return this.view.column(this.view.sides.length ? "now" : "value")[v];
	}

	/* "; was 9 ms, +33 %" */
	changeOf(v) {
		if (!this.view.sides.length)
			return "";
		const unit = this.tree.metrics[this.state.metric].unit;
		const base = this.view.column("base")[v];
		return "; was " + amount(base, unit) + ", " + (changeText(this.valueOf(v), base, this.total()) || "the same");
	}

	/* "widest: py::step (train.py:12) > gemm  46.4 %": the code that it is in, and what is on top. */
	widestText() {
		const { view, tree } = this;
		const NAME_MAX = 48;
		const frame = (v) => view.column("frame")[v];
		const isOwn = (v) => tree.class[frame(v)] === CLASS_OWN || tree.class[frame(v)] === CLASS_MODEL;
		const isHost = (v) => tree.kind[frame(v)] > KIND.process && tree.kind[frame(v)] < KIND.os && !tree.run(frame(v));
		const below = view.path(this.widest).slice(1, -1);
		const own = below.findLast(isOwn) ?? below.findLast(isHost);
		const names = [...new Set([own, this.widest].filter((v) => v !== undefined)
			.map((v) => label(this.nameOf(v), tree.kind[frame(v)], NAME_MAX)))];
		const isDiff = view.sides.length > 0;
		const part = isDiff ? changeText(this.valueOf(this.widest), view.column("base")[this.widest], this.total()) || "noise"
			: share(this.valueOf(this.widest), this.total());
		return (isDiff ? "changed most: " : "widest: ") + names.join(" \u203a ") + ", " + part;
	}

	sharesText() {
		const words = { device: "busy", idle: "idle", host: "host", unknown: "not known" };
		const present = Object.keys(words).filter((key) => this.shares[key]);
		if (present.length < 2)
			return "";
		return " (" + present.map((key) => words[key] + " " + share(this.shares[key], this.view.total)).join(", ") + ")";
	}

	matchedText() {
		if (!this.search)
			return "";
		const unit = this.tree.metrics[this.state.metric].unit;
		const at = this.search.at >= 0 ? ` [${this.search.at + 1}/${this.search.places.length}]` : "";
		return "Matched: " + share(this.search.sum, this.total()) + " (" + amount(this.search.sum, unit) + ")" + at;
	}

	describe(v) {
		const { tree } = this;
		const unit = tree.metrics[this.state.metric].unit;
		return this.nameOf(v).slice(0, 500) + " (" + amount(this.valueOf(v), unit) + ", " +
			share(this.valueOf(v), this.total()) + this.changeOf(v) + ")";
	}

	/* What a tooltip says: name, lines of where and what it is, rows of numbers. */
	tipOf(box) {
		const { view, tree } = this;
		const unit = tree.metrics[this.state.metric].unit;
		const value = view.column("value");
		if (box.count > 1) {
			const sum = box.width / this.picture.scale;
			return [`${count(box.count)} frames, each too thin to draw`, ["click to zoom in"],
				[["together", amount(sum, unit)], ["of all", share(sum, view.total)]]];
		}
		const v = box.v, frame = view.column("frame")[v], above = view.column("above")[v];
		const dim = [];
		const NAME_MAX = 2000;
		let name = this.nameOf(v);
		if (name.length > NAME_MAX)
			name = name.slice(0, NAME_MAX) + `\u2026 (${count(name.length)} characters)`;
		if (frame !== RUN) {
			const string = (column) => tree.header.strings[tree[column][frame]];
			const file = string("file"), line = tree.line[frame], module = string("module"), full = string("full");
			if (full)
				dim.push(full.length > NAME_MAX ? full.slice(0, NAME_MAX) + "\u2026" : full);
			if (file)
				dim.push(line ? file + ":" + line : file);
			if (module)
				dim.push(module);
			dim.push(tree.header.kinds[tree.kind[frame]] + (tree.class[frame] === CLASS_FRAMEWORK ? ", framework" : ""));
		}
		if (view.sides.length) {
			const now = this.valueOf(v), base = view.column("base")[v];
			return [name, dim, [["now", amount(now, unit) + ", " + share(now, this.total())],
				["before", amount(base, unit) + ", " + share(base, this.total())],
				["change", (now < base ? "-" : "+") + amount(Math.abs(now - base), unit) + ", " +
					(changeText(now, base, this.total()) || "noise")]]];
		}
		const own = view.own(v);
		if (view.column("folds")[v])
			dim.push("frames of frameworks on it are folded (f shows them)");
		const table = [["value", amount(value[v], unit)], ["of all", share(value[v], view.total)]];
		if (above >= 0)
			table.push(["of " + (this.state.byLeaf ? "frame below" : "caller"), share(value[v], value[above])]);
		table.push(["itself", amount(own, unit) + ", " + share(own, view.total)]);
		return [name, dim, table];
	}

	showFocus() {
		const { picture } = this;
		let box = picture.boxOf(this.focused);
		if (!box) {
			this.focused = this.zoom;
			box = picture.boxOf(this.zoom);
		}
		picture.mark(picture.focus, box);
		picture.focus.setAttribute("aria-label", this.describe(this.focused));
		picture.focus.setAttribute("aria-level", box.row + 1);
		this.placeAmongSiblings(picture.focus);
		this.page.details.textContent = this.describe(this.focused);
	}

	/* "2 of 5", as screen readers say it. */
	placeAmongSiblings(item) {
		const { view, focused } = this;
		const above = view.column("above")[focused];
		const first = above < 0 ? ROOT : view.column("kids")[above];
		const count = above < 0 ? 1 : view.column("kidCount")[above];
		/* A run is none of them: it stands for some. */
		const isOne = focused >= first && focused < first + count;
		item.setAttribute("aria-posinset", isOne ? focused - first + 1 : 1);
		item.setAttribute("aria-setsize", isOne ? count : 1);
	}

	/* Show the focus though the picture has not the keyboard. */
	point(on) {
		this.picture.focus.classList.toggle("on", on);
	}

	scrollTo(v) {
		const { main } = this.page;
		const box = this.picture.boxOf(v);
		if (!box)
			return;
		const y = this.picture.y(box.row);
		if (y < main.scrollTop || y + ROW > main.scrollTop + main.clientHeight)
			main.scrollTop = y - main.clientHeight / 2;
	}

	/* The zoomed frame at the edge that it grows from. */
	scrollToZoom() {
		const { main } = this.page;
		const box = this.picture.boxOf(this.zoom);
		const rows = Math.max(0, box.row - 3) * ROW;
		main.scrollTop = this.state.inverted ? rows : this.picture.height - rows - main.clientHeight;
	}
}
