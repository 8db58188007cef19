/*
 * One way to look at the tree: from the root or by leaf, some kinds hidden, frameworks folded.
 *
 * A node of a view stands for a set of nodes of the tree that read the same from the root on (or,
 * by leaf, from the leaf on). Children are made when a node is first looked into, so that the cost
 * follows what is seen. All lists are columns of numbers, since there may be millions.
 */
const RUN = -1; /* instead of a frame: neighbours that are too thin to draw one by one */

class Column {
	constructor(Type, capacity) {
		this.data = new Type(capacity);
	}
	grow(capacity) {
		const grown = new this.data.constructor(capacity);
		grown.set(this.data);
		this.data = grown;
	}
}

class View {
	/* options: metric, hidden (bits of kinds), full, byLeaf */
	constructor(tree, options) {
		this.tree = tree;
		this.options = options;
		const dropped = options.hidden & (1 << KIND.idle | 1 << KIND.missing);
		this.hidden = options.hidden & ~dropped;
		this.self = dropped ? tree.selfWithout(options.metric, dropped) : tree.self(options.metric);
		this.totals = tree.totals(this.self);
		this.total = this.totals[ROOT];
		/* Of two profiles, what each has; the metric is what it takes to show both. */
		this.sides = tree.header.diff ? ["now", "base"].map((name, i) => {
			const self = dropped ? tree.selfWithout(i + 1, dropped) : tree.self(i + 1);
			return { name, self, totals: tree.totals(self) };
		}) : [];

		/* folds: 1 when frames of frameworks are folded into the node; known once it was expanded. */
		this.columns = { folds: Uint8Array, frame: Int32Array, head: Int32Array, value: Float64Array, x: Float64Array,
			above: Int32Array, depth: Int32Array, kids: Int32Array, kidCount: Int32Array };
		for (const side of this.sides)
			this.columns[side.name] = Float64Array;
		this.capacity = 1024;
		for (const name of Object.keys(this.columns))
			this.columns[name] = new Column(this.columns[name], this.capacity);
		this.length = 0;
		this.next = new Int32Array(tree.count); /* the sets are lists of tree nodes */
		this.slots = new Int32Array(tree.names.length).fill(-1); /* frame -> child being made */
		if (options.byLeaf)
			this.startByLeaf();
		this.push(tree.frame[ROOT], options.byLeaf ? this.firstLeaf : ROOT, this.total, 0, -1, 0);
		if (!options.byLeaf)
			this.next[ROOT] = -1;
		for (const side of this.sides)
			this.column(side.name)[ROOT] = side.totals[ROOT];
	}

	column(name) {
		return this.columns[name].data;
	}

	push(frame, head, value, x, above, depth) {
		const v = this.length++;
		const c = this.columns;
		if (v === this.capacity) {
			this.capacity *= 2;
			for (const name in c)
				c[name].grow(this.capacity);
		}
		c.frame.data[v] = frame;
		c.head.data[v] = head;
		c.value.data[v] = value;
		c.x.data[v] = x;
		c.above.data[v] = above;
		c.depth.data[v] = depth;
		c.kids.data[v] = -1;
		return v;
	}

	/* By leaf, the set is of nodes with own values; "at" is where each has got to on its way down. */
	startByLeaf() {
		const n = this.tree.count;
		this.at = new Int32Array(n);
		this.firstLeaf = -1;
		for (let i = n - 1; i >= 0; i--) {
			if (!this.self[i])
				continue;
			this.next[i] = this.firstLeaf;
			this.firstLeaf = i;
			this.at[i] = this.shownFrom(i);
		}
	}

	isHidden(i) {
		const tree = this.tree;
		return this.hidden >> tree.kind[tree.frame[i]] & 1 || !this.options.full && tree.isFolded(i);
	}

	/* The first node that is shown from @i towards the root. */
	shownFrom(i) {
		while (i > ROOT && this.isHidden(i))
			i = this.tree.parent[i];
		return i;
	}

	frameShown(i) {
		const frame = this.tree.frame[i];
		const merged = this.tree.merged[frame];
		return merged && !this.options.full ? merged - 1 : frame;
	}

	/* Put tree node @i into the child of @v with this frame; @value: what counts of it. */
	group(v, i, frame, value) {
		const c = this.columns;
		let kid = this.slots[frame];
		if (kid < 0) {
			kid = this.push(frame, -1, 0, 0, v, c.depth.data[v] + 1);
			this.slots[frame] = kid;
		}
		this.next[i] = c.head.data[kid];
		c.head.data[kid] = i;
		c.value.data[kid] += value;
		for (const side of this.sides)
			c[side.name].data[kid] += (this.options.byLeaf ? side.self : side.totals)[i];
	}

	groupChildren(v, i) {
		const end = this.tree.end;
		const totals = this.totals;
		for (let kid = i + 1; kid < end[i];) {
			if (!totals[kid]) {
				kid = end[kid];
			} else if (this.isHidden(kid)) {
				if (!(this.hidden >> this.tree.kind[this.tree.frame[kid]] & 1))
					this.column("folds")[v] = 1;
				kid++; /* its children come next, and are ours */
			} else {
				this.group(v, kid, this.frameShown(kid), totals[kid]);
				kid = end[kid];
			}
		}
	}

	groupCallers(v, first) {
		for (let i = first; i >= 0;) {
			const next = this.next[i];
			const at = this.at[i];
			if (at > ROOT) {
				this.at[i] = this.shownFrom(this.tree.parent[at]);
				this.group(v, i, this.frameShown(at), this.self[i]);
			}
			i = next;
		}
	}

	/* Make the children of @v. They are neighbours in the columns, in the order of their frames. */
	expand(v) {
		const first = this.length;
		if (this.column("kids")[v] >= 0)
			return;
		let i = this.column("head")[v];
		if (this.options.byLeaf) {
			this.groupCallers(v, i);
		} else {
			for (; i >= 0; i = this.next[i])
				this.groupChildren(v, i);
		}
		const count = this.length - first;
		this.column("kids")[v] = first;
		this.column("kidCount")[v] = count;
		const frame = this.column("frame");
		for (let kid = first; kid < this.length; kid++)
			this.slots[frame[kid]] = -1;
		this.sortKids(first, count);
		let x = this.column("x")[v];
		for (let kid = first; kid < this.length; kid++) {
			this.column("x")[kid] = x;
			x += this.column("value")[kid];
		}
	}

	sortKids(first, count) {
		const frame = this.column("frame");
		let sorted = true;
		for (let kid = first + 1; kid < first + count && sorted; kid++)
			sorted = frame[kid - 1] < frame[kid];
		if (sorted)
			return;
		const order = Array.from({ length: count }, (_, i) => first + i);
		order.sort((a, b) => frame[a] - frame[b]);
		for (const name of ["frame", "head", "value", ...this.sides.map((side) => side.name)]) {
			const column = this.column(name);
			const values = order.map((kid) => column[kid]);
			values.forEach((value, i) => column[first + i] = value);
		}
	}

	/* A node for @count neighbours, so that one can zoom into them. */
	makeRun(first, count) {
		const last = first + count - 1;
		const x = this.column("x"), value = this.column("value");
		const v = this.push(RUN, -1, x[last] + value[last] - x[first], x[first],
			this.column("above")[first], this.column("depth")[first]);
		this.column("kids")[v] = first;
		this.column("kidCount")[v] = count;
		return v;
	}

	kidWithFrame(v, frame) {
		this.expand(v);
		const kids = this.column("kids")[v];
		for (let kid = kids; kid < kids + this.column("kidCount")[v]; kid++) {
			if (this.column("frame")[kid] === frame)
				return kid;
		}
		return -1;
	}

	/* What is on @v itself: all that no child has. */
	own(v) {
		this.expand(v);
		let own = this.column("value")[v];
		const kids = this.column("kids")[v];
		for (let kid = kids; kid < kids + this.column("kidCount")[v]; kid++)
			own -= this.column("value")[kid];
		return Math.max(0, own);
	}

	widestKid(v) {
		this.expand(v);
		const value = this.column("value");
		const first = this.column("kids")[v], end = first + this.column("kidCount")[v];
		let best = -1;
		for (let kid = first; kid < end; kid++) {
			if (best < 0 || value[kid] > value[best])
				best = kid;
		}
		return best;
	}

	/*
	 * A tower goes up to the accelerator's work or idleness, or to where more is spent than in any child.
	 * What is less than a quarter of what it stands on is one of many, no tower.
	 */
	endsTower(v) {
		const OF_MANY = 4;
		const kind = this.tree.kind[this.column("frame")[v]];
		if (kind === KIND.kernel || kind === KIND.idle)
			return true;
		const best = this.widestKid(v);
		const value = this.column("value");
		return best < 0 || value[best] < Math.max(this.own(v), value[v] / OF_MANY);
	}

	/*
	 * Where the widest tower ends: looked for from the widest child on, and in none that is less wide.
	 * Of millions of frames that are all as thin none stands out; looking at them all would take seconds.
	 */
	widest() {
		const SEEN = 1 / 1000;
		let found = ROOT, most = this.total * SEEN;
		for (const todo = [ROOT]; todo.length;) {
			const v = todo.pop();
			if (this.column("value")[v] <= most)
				continue;
			if (this.endsTower(v)) {
				found = v;
				most = this.column("value")[v];
				continue;
			}
			const value = this.column("value"), best = this.widestKid(v);
			const first = this.column("kids")[v], end = first + this.column("kidCount")[v];
			for (let kid = first; kid < end; kid++) {
				if (kid !== best && value[kid] > most)
					todo.push(kid);
			}
			todo.push(best);
		}
		return this.belowBoundary(found);
	}

	belowBoundary(v) {
		while (this.tree.kind[this.column("frame")[v]] === KIND.boundary)
			v = this.column("above")[v];
		return v;
	}

	/* Of two profiles the frame that changed most; of a tower that did, the last that has it nearly all. */
	mostChanged() {
		const SEEN = 1 / 200, NEARLY = 0.9;
		const wide = [];
		let most = 0;
		for (const todo = [ROOT]; todo.length;) {
			const v = todo.pop();
			this.expand(v);
			const change = Math.abs(this.column("now")[v] - this.column("base")[v]);
			wide.push([v, change]);
			most = Math.max(most, change);
			const first = this.column("kids")[v], end = first + this.column("kidCount")[v];
			for (let kid = first; kid < end; kid++) {
				if (this.column("value")[kid] >= this.total * SEEN)
					todo.push(kid);
			}
		}
		const depth = this.column("depth");
		let found = ROOT;
		for (const [v, change] of wide) {
			if (most && change >= most * NEARLY && depth[v] > depth[found])
				found = v;
		}
		return this.belowBoundary(found);
	}

	/* What to look at first; ROOT: nothing stands out. */
	remarkable() {
		if (this.options.byLeaf)
			return ROOT;
		return this.sides.length ? this.mostChanged() : this.widest();
	}

	/* From the root to @v. */
	path(v) {
		const path = [];
		for (; v >= 0; v = this.column("above")[v])
			path.unshift(v);
		return path;
	}

	/* The view's node that holds tree node @i; -1 if it is in none. */
	find(i) {
		if (this.options.byLeaf || !this.totals[i])
			return -1;
		const chain = [];
		for (; i > ROOT; i = this.tree.parent[i]) {
			if (!this.isHidden(i))
				chain.push(this.frameShown(i));
		}
		let v = ROOT;
		while (chain.length && v >= 0)
			v = this.kidWithFrame(v, chain.pop());
		return v;
	}
}
