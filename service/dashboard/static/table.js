// Sorting and filtering of a table that is all here. Its heads turn into buttons; nothing is asked of the service.

/**
 * Makes the columns of `table` sortable, and hides the rows that do not have the text of the input `text` in their name
 * (second cell) or, for each pair in `choices`, the value of that select in that cell. `count` says how many are left.
 * Columns with data-kind="number" sort by a cell's data-value or text as a number; cells without one come last.
 */
export function sortable(table, { text, choices, count }) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
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
    const keyed = [...body.rows].map((row, position) => [key(row), position, row]);
    keyed.sort(([a, i], [b, j]) => {
      if (a === null || b === null) return (a === null) - (b === null) || i - j;
      return (typeof a === "number" ? a - b : a < b ? -1 : a > b ? 1 : 0) * sign || i - j;
    });
    body.append(...keyed.map(([, , row]) => row));
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].ariaSort = ascending ? "ascending" : "descending";
  }

  function filter() {
    const wanted = text.value.trim().toLowerCase();
    let shown = 0;
    for (const row of body.rows) {
      const fits =
        row.cells[1].textContent.toLowerCase().includes(wanted) &&
        choices.every(([select, column]) => select.value === "" || row.cells[column].textContent === select.value);
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    count.textContent = `${shown} of ${body.rows.length}`;
  }

  text.addEventListener("input", filter);
  for (const [select] of choices) select.addEventListener("change", filter);
  filter();
  return { refresh: filter };
}

function keyOf(column, isNumber) {
  if (!isNumber) return (row) => row.cells[column].textContent;
  return (row) => {
    const value = row.cells[column].dataset.value ?? row.cells[column].textContent;
    return value === "" ? null : Number(value);
  };
}
