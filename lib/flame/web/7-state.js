/*
 * What is shown, as the address's fragment, so that a link shows the same. Frames are named by
 * hashes of their names along the path: that outlives another width, metric or layout.
 */
function stateToFragment(state, header) {
	const parts = [];
	const add = (key, value) => parts.push(key + "=" + encodeURIComponent(value));
	if (state.metric !== header.metric)
		add("metric", header.metrics[state.metric].name);
	if (state.byLeaf)
		add("view", "leaf");
	if (state.inverted !== Boolean(header.inverted))
		add("icicle", state.inverted ? 1 : 0);
	if (state.full !== Boolean(header.full))
		add("full", state.full ? 1 : 0);
	if (state.hidden)
		add("hide", Object.keys(KIND).filter((name) => state.hidden >> KIND[name] & 1).join());
	if (state.text)
		add("search", state.text);
	if (state.matchesCase)
		add("case", 1);
	if (state.at.length)
		add("at", state.at.join("."));
	return parts.join("&");
}

function fragmentToState(fragment, header) {
	const values = new URLSearchParams(fragment.replace(/^#/, "").replace(/\+/g, "%2B"));
	const flag = (key, otherwise) => values.has(key) ? values.get(key) === "1" : Boolean(otherwise);
	const metric = header.metrics.findIndex((m) => m.name === values.get("metric"));
	let hidden = 0;
	for (const name of (values.get("hide") || "").split(",")) {
		if (Object.hasOwn(KIND, name))
			hidden |= 1 << KIND[name];
	}
	return {
		metric: metric >= 0 ? metric : header.metric,
		byLeaf: values.get("view") === "leaf",
		inverted: flag("icicle", header.inverted),
		full: flag("full", header.full),
		hidden,
		text: values.get("search") || "",
		matchesCase: flag("case", false),
		at: (values.get("at") || "").split(".").filter(Boolean),
	};
}
