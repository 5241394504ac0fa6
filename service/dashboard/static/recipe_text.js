// A recipe's text with its line numbers: they keep up with it, and faults lead to their places in it.

const text = document.getElementById("text");

function show(line, column) {
  const before = text.value.split("\n").slice(0, line - 1).join("\n");
  const start = before.length + (line > 1 ? 1 : 0) + column - 1;
  text.closest("details")?.setAttribute("open", "");
  text.focus();
  text.setSelectionRange(start, start);
  document.getElementById(`line-${line}`)?.scrollIntoView({ block: "center" });
}

for (const link of document.querySelectorAll("a[data-line]")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    show(Number(link.dataset.line), Number(link.dataset.column));
  });
}

if (text !== null) {
  const gutter = text.closest(".numbered").querySelector(".gutter");
  text.addEventListener("input", () => {
    const lines = Math.max(12, text.value.split("\n").length);
    text.rows = lines;
    while (gutter.childElementCount < lines) {
      const number = document.createElement("span");
      number.textContent = gutter.childElementCount + 1;
      gutter.append(number);
    }
    while (gutter.childElementCount > lines) gutter.lastElementChild.remove();
  });
}
