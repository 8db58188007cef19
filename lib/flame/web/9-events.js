/* From the reader's hands to App. */
App.prototype.listen = function () {
	const { page } = this;
	const onClick = (node, action) => node.addEventListener("click", action);

	onClick(page.reset, () => this.zoomTo(ROOT));
	onClick(page.widest, () => this.zoomTo(this.widest));
	onClick(page.icicle, () => this.change({ inverted: !this.state.inverted }));
	onClick(page.byLeaf, () => this.change({ byLeaf: !this.state.byLeaf }));
	onClick(page.framework, () => this.change({ full: !this.state.full }));
	onClick(page.everything, () => this.change({ hidden: 0, full: true }));
	onClick(page.caseToggle, () => this.toggleCase());
	onClick(page.previous, () => this.step(-1));
	onClick(page.following, () => this.step(1));
	for (const name in page.layers)
		onClick(page.layers[name], () => this.change({ hidden: this.state.hidden ^ 1 << KIND[name] }));
	page.metric.addEventListener("change", () => this.change({ metric: Number(page.metric.value) }));
	page.search.addEventListener("input", () => this.searchFor(page.search.value));
	page.search.addEventListener("keydown", (event) => this.onSearchKey(event));
	document.addEventListener("keydown", (event) => this.onKey(event));

	onClick(page.canvas, (event) => this.onCanvasClick(event));
	page.canvas.addEventListener("mousemove", (event) => this.onMove(event));
	page.canvas.addEventListener("mouseleave", () => this.onLeave());
	page.main.addEventListener("scroll", () => this.onLeave());

	new ResizeObserver(() => {
		if (this.picture.width !== this.canvasWidth())
			this.draw();
	}).observe(page.main);
	window.addEventListener("popstate", () => this.restore());
};

App.prototype.toggleCase = function () {
	this.state.matchesCase = !this.state.matchesCase;
	this.searchFor(this.state.text);
};

App.prototype.searchFor = function (text) {
	this.find(text);
	this.draw();
	this.remember();
};

App.prototype.boxUnder = function (event) {
	const canvas = this.page.canvas.getBoundingClientRect();
	return this.picture.boxAt(event.clientX - canvas.left, event.clientY - canvas.top);
};

App.prototype.onCanvasClick = function (event) {
	const box = this.boxUnder(event);
	this.page.hideTip();
	if (!box)
		return;
	if (!box.count || box.count === 1)
		this.zoomTo(box.v);
	else if (box.single && box.parent === this.zoom)
		this.zoomTo(this.view.makeRun(box.v, box.count));
	else
		this.zoomTo(this.picture.nodeBelow(box));
};

App.prototype.onMove = function (event) {
	const { page, picture } = this;
	const box = this.boxUnder(event);
	picture.mark(picture.hover, box);
	if (!box) {
		page.hideTip();
		return;
	}
	page.showTip(this.tipOf(box), event.clientX, event.clientY);
	if (!box.count)
		page.details.textContent = this.describe(box.v);
};

App.prototype.onLeave = function () {
	this.picture.mark(this.picture.hover, null);
	this.page.hideTip();
};

App.prototype.onSearchKey = function (event) {
	if (event.key === "Enter") {
		event.preventDefault();
		this.step(event.shiftKey ? -1 : 1);
	} else if (event.key === "Escape") {
		event.preventDefault();
		event.stopPropagation();
		this.page.search.value = "";
		this.searchFor("");
		this.page.canvas.focus();
	}
};

App.prototype.onKey = function (event) {
	const { page, state } = this;
	const control = event.ctrlKey || event.metaKey;
	const typing = event.target === page.search || event.target === page.metric;

	if (event.key === "F3" || control && event.key === "f" || !typing && !control && event.key === "/") {
		event.preventDefault();
		page.search.focus();
		page.search.select();
		return;
	}
	if (control && event.key === "i") {
		event.preventDefault();
		this.toggleCase();
		return;
	}
	if (typing || control || event.altKey)
		return;
	const actions = {
		Escape: () => this.escape(),
		i: () => this.change({ inverted: !state.inverted }),
		b: () => this.change({ byLeaf: !state.byLeaf }),
		f: () => this.change({ full: !state.full }),
		e: () => this.change({ hidden: 0, full: true }),
		w: () => this.widest !== ROOT && this.zoomTo(this.widest),
		n: () => this.step(1),
		N: () => this.step(-1),
		ArrowUp: () => this.walk(state.inverted ? "down" : "up"),
		ArrowDown: () => this.walk(state.inverted ? "up" : "down"),
		ArrowLeft: () => this.walk("left"),
		ArrowRight: () => this.walk("right"),
		Home: () => this.focusOn(ROOT),
	};
	if (event.key === "Enter" && (event.target === page.canvas || event.target === document.body ||
			event.target === document.documentElement))
		actions.Enter = () => this.zoomTo(this.focused);
	if (actions[event.key]) {
		event.preventDefault();
		actions[event.key]();
	}
};

/* All back to the start: first the zoom, then the search. */
App.prototype.escape = function () {
	if (this.zoom !== ROOT) {
		this.zoomTo(ROOT);
	} else if (this.state.text) {
		this.page.search.value = "";
		this.searchFor("");
	}
	this.focusOn(ROOT);
};

App.prototype.focusOn = function (v) {
	this.focused = v;
	this.showFocus();
	this.scrollTo(v);
	this.page.canvas.focus({ preventScroll: true });
};

/* "up" is away from the root: to the widest child. */
App.prototype.walk = function (where) {
	const { picture, view } = this;
	const box = picture.boxOf(this.focused);
	const row = picture.rows[box.row + (where === "up" ? 1 : 0)] || [];
	if (where === "down") {
		const above = view.column("above")[this.focused];
		if (above >= 0)
			this.focusOn(above);
		return;
	}
	const real = row.filter((other) => !other.count);
	let to;
	if (where === "up") {
		to = real.filter((other) => other.x >= box.x - 0.01 && other.x < box.x + box.width)
			.reduce((best, other) => !best || other.width > best.width ? other : best, null);
	} else {
		to = real[real.indexOf(box) + (where === "right" ? 1 : -1)];
	}
	if (to)
		this.focusOn(to.v);
};

async function start() {
	const svg = document.currentScript ? document.currentScript.ownerSVGElement : document.querySelector("svg.flame");
	const chunks = [...svg.querySelectorAll("metadata.tree")].map((data) => data.textContent);
	const note = (text) => {
		const still = document.getElementById("still");
		const line = still && still.appendChild(svgElement("text", { x: 10, y: svg.getAttribute("height") - 2 }));
		if (line)
			line.textContent = text;
	};
	if (typeof DecompressionStream === "undefined") {
		note("This viewer cannot unpack the whole tree (it has no DecompressionStream): no zoom, no search.");
		return null;
	}
	try {
		return new App(new Tree(await inflate(chunks.join(""))), svg);
	} catch (error) {
		note("The tree in this picture could not be read: " + error.message);
		throw error;
	}
}

/* For tests and for those who look behind the picture. */
window.flame = start();
