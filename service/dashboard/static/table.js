// Sorting and filtering of a table that is all here. Its heads turn into buttons; nothing is asked of the service.
// Of very many rows only the first are in the page, and more as they are scrolled to: laying out all takes too long.

const STEP = 60;

/**
 * Makes the columns of `table` sortable, and shows the rows that have the text of the input `text` in their name
 * (second cell) and, for each pair in `choices`, the value of that select in that cell. `count` says how many these are;
 * the button `more` brings more of them into the page, also when it comes into sight. Columns with data-kind="number"
 * sort by a cell's data-value or text as a number; cells without one come last.
 */
export function sortable(table, { text, choices, count, more }) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  let rows = [...body.rows];
  let fitting = rows;
  let shown = STEP;

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(column, head.ariaSort !== "ascending"));
  });

  function sort(column, ascending) {
    const key = keyOf(column, heads[column].dataset.kind === "number");
    const sign = ascending ? 1 : -1;
    const keyed = rows.map((row, position) => [key(row), position, row]);
    keyed.sort(([a, i], [b, j]) => {
      if (a === null || b === null) return (a === null) - (b === null) || i - j;
      return (typeof a === "number" ? a - b : a < b ? -1 : a > b ? 1 : 0) * sign || i - j;
    });
    rows = keyed.map(([, , row]) => row);
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].ariaSort = ascending ? "ascending" : "descending";
    filter();
  }

  function filter() {
    shown = STEP;
    refresh();
  }

  function refresh() {
    const wanted = text.value.trim().toLowerCase();
    const chosen = choices.filter(([select]) => select.value !== "");
    fitting = rows.filter(
      (row) =>
        (wanted === "" || row.cells[1].textContent.toLowerCase().includes(wanted)) &&
        chosen.every(([select, column]) => row.cells[column].textContent === select.value),
    );
    count.textContent = `${fitting.length} of ${rows.length}`;
    draw();
  }

  function draw() {
    const wanted = fitting.slice(0, shown);
    const isThere = wanted.length === body.rows.length && wanted.every((row, index) => row === body.rows[index]);
    if (!isThere) body.replaceChildren(...wanted);
    more.hidden = shown >= fitting.length;
  }

  function showMore() {
    shown += STEP;
    draw();
  }

  text.addEventListener("input", filter);
  for (const [select] of choices) select.addEventListener("change", filter);
  more.addEventListener("click", showMore);
  new IntersectionObserver((entries) => entries.at(-1).isIntersecting && showMore()).observe(more);
  refresh();
  return { refresh };
}

function keyOf(column, isNumber) {
  if (!isNumber) return (row) => row.cells[column].textContent;
  return (row) => {
    const value = row.cells[column].dataset.value ?? row.cells[column].textContent;
    return value === "" ? null : Number(value);
  };
}
