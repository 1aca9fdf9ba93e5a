// Makes elements; text always goes in as text, so that no name in the data is ever read as HTML.

export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null));
  return node;
}

// More cells than these take a browser longer than a reader waits.
const MANY = 5000;

// A table that scrolls by itself when it is wider than the page, folded away if it is large. A column is {label, number}; each cell
// knows its column's label, so that the style may lay out rows of another `kind` one below the other. Without rows there is none.
export function table(caption, columns, rows, kind = "plain") {
  if (rows.length === 0) return null;
  const whole = () => unfolded(caption, columns, rows, kind);
  return columns.length * rows.length > MANY ? folded(`${caption} (${rows.length} rows)`, whole) : whole();
}

export function unfolded(caption, columns, rows, kind = "plain") {
  const cells = (tag, values) => el("tr", {}, values.map((value, i) =>
    el(tag, { "data-label": columns[i].label, class: columns[i].number ? "number" : "text" }, value)));
  return el("div", { class: `table ${kind}` }, el("p", { class: "aside" }, caption),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      el("table", {},
        el("thead", {}, cells("th", columns.map((column) => column.label))),
        el("tbody", {}, rows.map((row) => cells("td", row))))));
}

// What is folded away, and made only when someone opens it: tables may have thousands of rows.
export function folded(summary, make, attributes = {}) {
  let made = false;
  const fill = (event) => {
    if (made || !event.currentTarget.open) return;
    made = true;
    event.currentTarget.append(...[make()].flat(Infinity).filter(Boolean));
  };
  return el("details", { ...attributes, ontoggle: fill }, el("summary", {}, summary));
}

// A table of names and values.
export function pairs(caption, rows) {
  return table(caption, [{ label: "" }, { label: "" }], rows);
}

export function section(id, title, ...children) {
  return el("section", { id }, el("h2", {}, title), ...children);
}
