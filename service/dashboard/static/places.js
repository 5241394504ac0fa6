// Completes places below the source roots while they are typed.

async function complete(input) {
  const folder = input.value.slice(0, input.value.lastIndexOf("/") + 1);
  if (input.dataset.folder === folder || /^hf:|:\/\//.test(input.value)) return;
  input.dataset.folder = folder;
  try {
    const answer = await fetch(`/v1/sources?under=${encodeURIComponent(folder)}`);
    if (!answer.ok) return;
    const { items } = await answer.json();
    if (input.dataset.folder !== folder) return; // more has been typed meanwhile
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
