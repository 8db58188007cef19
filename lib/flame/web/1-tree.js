/*
 * The whole tree, unpacked from the picture's <metadata> elements (format: lib/flame/payload.h).
 * Nodes are numbers in pre-order: the children of i start at i + 1, and its subtree ends before
 * end[i].
 */
const ROOT = 0;
const COLUMNS = ["kind", "class", "shade", "line", "full", "file", "module", "merged"];
const KIND = { process: 1, scope: 2, python: 3, cxx: 4, native: 5, os: 6, boundary: 7, kernel: 8,
	function: 9, source: 10, instruction: 11, stall: 12, idle: 13, missing: 14 };
const CLASS_OWN = 1, CLASS_MODEL = 2, CLASS_FRAMEWORK = 3, CLASS_STDLIB = 4, CLASS_INTERPRETER = 5;

function fromBase64(text) {
	if (Uint8Array.fromBase64) /* since 2025 */
		return Uint8Array.fromBase64(text);
	const letters = atob(text);
	const bytes = new Uint8Array(letters.length);
	for (let i = 0; i < letters.length; i++)
		bytes[i] = letters.charCodeAt(i);
	return bytes;
}

async function inflate(text) {
	const plain = new Blob([fromBase64(text)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
	return new Uint8Array(await new Response(plain).arrayBuffer());
}

/* LEB128 numbers from one stream, all of them. */
function numbers(bytes, array) {
	let at = 0;
	for (let i = 0; i < array.length; i++) {
		let byte = bytes[at++];
		let value = byte & 127;
		/* Values beyond 31 bits are times: multiply instead of shifting. */
		for (let scale = 128; byte > 127; scale *= 128) {
			byte = bytes[at++];
			value += (byte & 127) * scale;
		}
		array[i] = value;
	}
	return array;
}

class Tree {
	constructor(bytes) {
		const view = new DataView(bytes.buffer);
		const size = view.getUint32(0, true);
		const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
		let at = 4 + size;
		const streams = header.columns.map((length) => bytes.subarray(at, at += length));

		this.header = header;
		this.metrics = header.metrics;
		this.names = header.names;
		this.count = header.nodes;
		COLUMNS.forEach((name, i) => {
			this[name] = numbers(streams[i], new Int32Array(this.names.length));
		});
		this.unpackNodes(streams[COLUMNS.length], streams[COLUMNS.length + 1]);
		this.selfStreams = streams.slice(COLUMNS.length + 2);
		this.selves = [];
	}

	/* Both streams at once, number by number: there may be ten million. */
	unpackNodes(shapes, frames) {
		const n = this.count;
		const frame = new Int32Array(n);
		const parent = new Int32Array(n);
		const end = new Int32Array(n).fill(n);
		let atShape = 0, atFrame = 0;
		for (let i = 0, above = -1; i < n; i++, above = i - 1) {
			let number = frames[atFrame++];
			if (number > 127) {
				number &= 127;
				for (let shift = 7, byte = 128; byte > 127; shift += 7) {
					byte = frames[atFrame++];
					number |= (byte & 127) << shift;
				}
			}
			let up = i ? shapes[atShape++] : 0;
			if (up > 127) {
				up &= 127;
				for (let shift = 7, byte = 128; byte > 127; shift += 7) {
					byte = shapes[atShape++];
					up |= (byte & 127) << shift;
				}
			}
			if (up) {
				let left;
				do {
					left = above;
					end[left] = i;
					above = parent[left];
				} while (--up);
				number += frame[left];
			}
			frame[i] = number;
			parent[i] = above;
		}
		this.frame = frame;
		this.parent = parent;
		this.end = end;
	}

	/* Own values of each node, unpacked when first asked for. */
	self(metric) {
		if (!this.selves[metric])
			this.selves[metric] = numbers(this.selfStreams[metric],
				new Float64Array(this.count));
		return this.selves[metric];
	}

	/* With everything above. */
	totals(self) {
		const total = Float64Array.from(self);
		for (let i = this.count - 1; i > 0; i--)
			total[this.parent[i]] += total[i];
		return total;
	}

	/*
	 * The own values without those of paths that have a frame of these kinds (bits).
	 */
	selfWithout(metric, kinds) {
		const self = Float64Array.from(this.self(metric));
		for (let i = 0; i < this.count;) {
			if (kinds >> this.kind[this.frame[i]] & 1) {
				self.fill(0, i, this.end[i]);
				i = this.end[i];
			} else {
				i++;
			}
		}
		return self;
	}

	/*
	 * What the values are spent on: device, idle, unknown or host. The frame nearest to the leaf
	 * that tells decides; frames below "[truncated]" are host code all the same.
	 */
	shares(self) {
		const HOST = 0, DEVICE = 1, IDLE = 2, UNKNOWN = 3;
		const told = Uint8Array.from(this.kind, (kind) => kind >= KIND.kernel && kind <= KIND.stall ? DEVICE
			: kind === KIND.idle ? IDLE : kind === KIND.missing ? UNKNOWN : HOST);
		const what = new Uint8Array(this.count);
		const sums = new Float64Array(4);
		for (let i = 0; i < this.count; i++) {
			let is = told[this.frame[i]];
			if (!is && i) {
				const above = what[this.parent[i]];
				is = above === UNKNOWN ? HOST : above;
			}
			what[i] = is;
			sums[is] += self[i];
		}
		return { device: sums[DEVICE], idle: sums[IDLE], unknown: sums[UNKNOWN], host: sums[HOST] };
	}

	/* Which runs a frame is folded with, as profile_run_of() has it. */
	run(frame) {
		if (this.class[frame] === CLASS_FRAMEWORK)
			return 1;
		if (this.class[frame] === CLASS_INTERPRETER)
			return 3;
		return this.class[frame] === CLASS_STDLIB && this.kind[frame] === KIND.python ? 2 : 0;
	}

	/*
	 * Of each node, as decide_fold() has it: 1 or 2 for the run that it is in, 4 for below it, or in
	 * it, there is Python or its interpreter, 8 for folded in the default view.
	 */
	foldAll() {
		const state = new Uint8Array(this.count);
		const runs = Uint8Array.from(this.kind, (_, frame) => this.run(frame));
		for (let i = 1; i < this.count; i++) {
			const frame = this.frame[i], kind = this.kind[frame], parent = state[this.parent[i]];
			const run = runs[frame], seen = kind === KIND.python ? 4 : parent & 4;
			if (run === 3)
				state[i] = seen ? parent & 3 | 12 : 4;
			else
				state[i] = seen | run | (parent & run && kind !== KIND.scope ? 8 : 0);
		}
		return state;
	}

	isFolded(i) {
		this.folds = this.folds || this.foldAll();
		return (this.folds[i] & 8) > 0;
	}
}
