/*
 * Which frames match, and what share of everything has a match in its path: computed on the whole
 * tree, whatever is drawn, with overlaps counted once.
 */
class Search {
	constructor(tree, text, matchesCase) {
		this.text = text;
		this.tree = tree;
		this.frames = new Uint8Array(tree.names.length);
		try {
			this.pattern = new RegExp(text, matchesCase ? "" : "i");
		} catch (error) {
			/* "operator()(" is a name before it is an expression. */
			this.fault = error.message;
			this.pattern = new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"),
				matchesCase ? "" : "i");
		}
		for (let f = 0; f < this.frames.length; f++) {
			const full = tree.header.strings[tree.full[f]];
			if (tree.kind[f] && (this.pattern.test(tree.names[f]) || full && this.pattern.test(full)))
				this.frames[f] = 1;
		}
	}

	/* The matches that lie in no other match, and their sum. */
	run(view) {
		const { tree, frames } = this;
		const tops = [];
		const counted = view.sides.length ? view.sides[0].totals : view.totals;
		this.sum = 0;
		for (let i = 0; i < tree.count;) {
			if (!frames[tree.frame[i]]) {
				i++;
				continue;
			}
			if (view.totals[i]) {
				this.sum += counted[i];
				tops.push(i);
			}
			i = tree.end[i];
		}
		this.view = view;
		this.tops = tops;
		this.at = -1;
		this.places = null;
	}

	/* The same matches as nodes of the view, the widest first: several may be one there. */
	placesInView() {
		if (this.places)
			return this.places;
		if (this.view.options.byLeaf)
			return this.places = this.placesByLeaf();
		const { totals } = this.view;
		const seen = new Set();
		this.tops.sort((a, b) => totals[b] - totals[a] || a - b);
		/* More than anyone steps through; finding them all could take seconds. */
		for (const i of this.tops.slice(0, 10000)) {
			const v = this.view.find(i);
			if (v > 0)
				seen.add(v);
		}
		this.places = [...seen];
		return this.places;
	}

	/* By leaf, one frame of the tree is in many places: those that can be seen, from the leaf on. */
	placesByLeaf() {
		const SEEN = 1 / 5000;
		const view = this.view;
		const places = [];
		for (const todo = [ROOT]; todo.length;) {
			const v = todo.pop();
			view.expand(v);
			const first = view.column("kids")[v], end = first + view.column("kidCount")[v];
			for (let kid = first; kid < end; kid++) {
				if (this.matches(kid))
					places.push(kid);
				else if (view.column("value")[kid] > view.total * SEEN)
					todo.push(kid);
			}
		}
		const value = view.column("value");
		return places.sort((a, b) => value[b] - value[a] || a - b);
	}

	/* A frame of the view matches when it or, merged, any of what it stands for does. */
	matches(v) {
		const view = this.view;
		const frame = view.column("frame")[v];
		if (frame === RUN)
			return false;
		if (this.frames[frame])
			return true;
		if (view.options.full || view.options.byLeaf)
			return false;
		for (let i = view.column("head")[v]; i >= 0; i = view.next[i]) {
			if (this.frames[this.tree.frame[i]])
				return true;
		}
		return false;
	}
}
