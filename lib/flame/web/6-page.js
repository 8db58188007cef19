/* The elements around the picture. Text goes in as text nodes only: names are hostile. */
const XHTML = "http://www.w3.org/1999/xhtml";

function element(name, attributes = {}, ...children) {
	const result = document.createElementNS(XHTML, name);
	for (const key in attributes) {
		if (attributes[key] !== undefined)
			result.setAttribute(key, attributes[key]);
	}
	result.append(...children);
	return result;
}

function button(id, text, title) {
	return element("button", { type: "button", id, title }, text);
}

class Page {
	constructor(tree) {
		this.title = element("h1", {}, tree.header.title);
		this.note = element("span", { id: "note" });
		this.widest = button("widest", "", "Zoom there (w)");
		this.reset = button("unzoom", "Reset zoom", "Show all again (Esc)");
		this.icicle = button("icicle", "Icicle", "Root at the top (i)");
		this.byLeaf = button("byleaf", "By leaf", "What is on top, over all callers (b)");
		this.framework = button("framework", "Framework frames",
			"Each frame of frameworks, and layers one by one; else folded and merged (f)");
		this.everything = button("everything", "Show everything", "Nothing folded, merged or hidden (e)");
		this.metric = element("select", { id: "metric", "aria-label": "What the width means" });
		this.search = element("input", { id: "search", type: "search", placeholder: "Search  /  Ctrl-F",
			"aria-label": "Search frames by regular expression", autocomplete: "off", spellcheck: "false" });
		this.caseToggle = button("ignorecase", "Aa", "Match upper and lower case (Ctrl-I)");
		this.previous = button("previous", "\u2039", "Previous match (N, Shift-Enter)");
		this.following = button("next", "\u203a", "Next match, widest first (n, Enter)");
		this.caseToggle.setAttribute("aria-label", "Match upper and lower case");
		this.previous.setAttribute("aria-label", "Previous match");
		this.following.setAttribute("aria-label", "Next match");
		this.legend = element("div", { class: "bar legend", role: "group", "aria-label": "Layers, shown or hidden" });
		this.crumbs = element("nav", { id: "crumbs", "aria-label": "Path to the zoomed frame" });
		this.canvas = svgElement("svg", { class: "canvas", id: "canvas", tabindex: 0, role: "tree",
			"aria-label": "Flame graph. Arrow keys walk frames, Enter zooms, Escape resets.",
			"aria-activedescendant": "flame-focus" });
		this.details = element("div", { class: "details", id: "details", role: "status", "aria-live": "polite" });
		this.matched = element("div", { class: "matched", id: "matched", role: "status", "aria-live": "polite" });
		this.tip = element("div", { class: "tip", role: "tooltip", hidden: "" });
		this.main = element("main", {}, this.canvas);
		this.root = element("div", { class: "page" },
			element("header", {}, this.title, element("p", {}, this.note, this.widest),
				element("div", { class: "bar" }, this.reset, this.icicle, this.byLeaf, this.framework,
					this.everything, this.metric,
					element("span", { class: "gap" }), this.search, this.caseToggle, this.previous, this.following),
				this.legend, this.crumbs),
			this.main, element("footer", {}, this.details, this.matched), this.tip);
		this.addMetrics(tree);
		this.addLegend(tree);
	}

	addMetrics(tree) {
		tree.metrics.forEach((metric, i) => {
			this.metric.append(element("option", { value: i }, metric.name));
		});
		this.metric.hidden = tree.metrics.length < 2 || Boolean(tree.header.diff);
	}

	/* One button for each kind that is there; the boundary always stays. */
	addLegend(tree) {
		this.layers = {};
		if (tree.header.diff)
			this.addScale();
		const present = new Set(tree.kind);
		for (const name in KIND) {
			const kind = KIND[name];
			if (!present.has(kind) || kind === KIND.boundary)
				continue;
			const extra = name === "idle" || name === "missing" ? " " + name : "";
			const swatch = this.swatch(String.fromCharCode(97 + kind) + (extra ? 0 : 3) + extra);
			this.addLayer(name, tree.header.kinds[kind], tree.header.diff ? "" : swatch);
			const hasOwn = () => tree.kind.some((other, f) => other === kind && tree.class[f] === CLASS_OWN);
			if (name === "python" && !tree.header.diff && hasOwn())
				this.legend.append(element("span", { class: "scale" }, "(", element("b", {}, "own code"), ")"));
		}
		this.canFold = tree.names.some((_, frame) => tree.run(frame) > 0) || tree.merged.some((merged) => merged > 0);
		this.framework.hidden = !this.canFold;
	}

	swatch(className) {
		const swatch = svgElement("svg", { viewBox: "0 0 11 11", "aria-hidden": "true" });
		const group = swatch.appendChild(svgElement("g", { class: className }));
		group.append(svgElement("rect", { width: 11, height: 11 }));
		return swatch;
	}

	/* What the colours of changes mean. */
	addScale() {
		for (const [text, now, base] of [["more", 2, 1], ["new", 1, 0], ["same", 1, 1], ["less", 1, 2], ["gone", 0, 1]])
			this.legend.append(element("span", { class: "scale" }, this.swatch(changeClass(now, base, 1)), text));
	}

	addLayer(name, text, swatch) {
		const layer = element("button", { type: "button", "data-layer": name,
			title: "Show or hide: " + text }, swatch, text);
		this.layers[name] = layer;
		this.legend.append(layer);
	}

	/* Replace the still picture. */
	install(svg, fluid) {
		const holder = svgElement("foreignObject", { width: "100%", height: "100%" });
		if (!fluid)
			this.root.style.width = svg.getAttribute("width") + "px";
		document.getElementById("still").remove();
		for (const data of svg.querySelectorAll("metadata.tree"))
			data.remove();
		svg.setAttribute("width", "100%");
		svg.setAttribute("height", "100%");
		svg.removeAttribute("viewBox");
		svg.removeAttribute("role");
		holder.append(this.root);
		svg.append(holder);
		this.charWidth = this.measure();
	}

	/* One measurement: the font is monospace. */
	measure() {
		const probe = this.canvas.appendChild(svgElement("text"));
		probe.textContent = "M".repeat(100);
		const width = probe.getComputedTextLength() / 100;
		probe.remove();
		return width || 7.23;
	}

	showCrumbs(names, onClick) {
		/* The first and the last few; the rest is in the picture itself. */
		const KEEP = 6;
		this.crumbs.replaceChildren();
		this.crumbs.hidden = names.length < 2;
		names.forEach((name, i) => {
			if (i && i < names.length - KEEP) {
				if (i === 1)
					this.crumbs.append(" \u203a \u2026");
				return;
			}
			if (i)
				this.crumbs.append(" \u203a ");
			const crumb = element("button", { type: "button" }, name.slice(0, 200) || "(no name)");
			crumb.addEventListener("click", () => onClick(i));
			this.crumbs.append(crumb);
		});
	}

	showTip(rows, x, y) {
		const [name, dim, table] = rows;
		this.tip.replaceChildren(element("b", {}, name));
		for (const text of dim)
			this.tip.append(element("div", { class: "dim" }, text));
		const body = element("tbody");
		for (const [what, value] of table)
			body.append(element("tr", {}, element("td", { class: "dim" }, what), element("td", {}, value)));
		this.tip.append(element("table", {}, body));
		this.tip.hidden = false;
		const box = this.tip.getBoundingClientRect();
		const page = this.root.getBoundingClientRect();
		const left = Math.max(0, Math.min(x - page.left + 12, page.width - box.width - 8));
		let top = y - page.top + 16;
		if (top + box.height > page.height)
			top = Math.max(0, y - page.top - box.height - 10);
		this.tip.style.left = left + "px";
		this.tip.style.top = top + "px";
	}

	hideTip() {
		this.tip.hidden = true;
	}
}
