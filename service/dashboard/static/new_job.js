// Completes places below the source roots while they are typed, and leads from a fault to its place in the recipe's text.

async function complete(input) {
  const folder = input.value.slice(0, input.value.lastIndexOf("/") + 1);
  if (input.dataset.folder === folder || /^hf:|:\/\//.test(input.value)) return;
  input.dataset.folder = folder;
  try {
    const answer = await fetch(`/v1/sources?under=${encodeURIComponent(folder)}`);
    if (!answer.ok || input.dataset.folder !== folder) return;
    const { items } = await answer.json();
    input.list.replaceChildren(...items.map(({ name, kind }) => {
      const option = document.createElement("option");
      option.value = kind === "folder" ? `${name}/` : name;
      return option;
    }));
  } catch {
    // Without the service there is nothing to complete with; submitting tells.
  }
}

for (const input of document.querySelectorAll("input[data-place]")) {
  input.addEventListener("focus", () => complete(input));
  input.addEventListener("input", () => complete(input));
}

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
