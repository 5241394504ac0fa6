// Of a file that is chosen, sends header and directory alone: the header says how long the directory is.

const form = document.getElementById("beginning-form");
const input = document.getElementById("beginning");
const status = document.getElementById("beginning-status");
const LONGEST_HEADER = 32;

/** How many bytes header and directory take; as many as say what is wrong of a file that is no artifact. */
async function beginningBytes(file) {
  const header = new DataView(await file.slice(0, LONGEST_HEADER).arrayBuffer());
  if (header.byteLength < LONGEST_HEADER) return file.size;
  const directory = header.getBigUint64(8, true);
  return Number(directory > BigInt(file.size) ? LONGEST_HEADER : directory) + LONGEST_HEADER;
}

form?.addEventListener("submit", async (event) => {
  const file = input.files[0];
  if (file === undefined || form.dataset.isCut === "yes") return;
  event.preventDefault();
  try {
    const wanted = await beginningBytes(file);
    if (wanted > Number(input.dataset.most) - 4096) {
      status.textContent = "Its directory is larger than what the service takes. Try: ninforge inspect FILE";
      return;
    }
    const chosen = new DataTransfer();
    chosen.items.add(new File([file.slice(0, wanted)], file.name));
    input.files = chosen.files;
    form.dataset.isCut = "yes";
    form.requestSubmit();
  } catch {
    status.textContent = "The file cannot be read. Choose it again, or another one.";
  }
});
