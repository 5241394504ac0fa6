// Keeps the page of a job as it is in the service: numbers and map by its events, the rest by asking for the page anew.

import { follow, freshPage, paced, renew } from "./live.js";
import { size, duration, grouped } from "./quantities.js";
import { sortable } from "./table.js";

// Rows of the table that are not in sight are not in the page either: these are all, from the beginning.
const objects = new Map();
for (const element of document.querySelectorAll("[data-object]")) {
  const { object: index } = element.dataset;
  objects.set(index, [...(objects.get(index) ?? []), element]);
}

const place = document.querySelector("[data-job]");
const bar = document.getElementById("bar");
const table = document.getElementById("objects-table");
const filters = table === null ? null : sortable(table, {
  text: document.getElementById("object-text"),
  choices: [[document.getElementById("object-format"), 2], [document.getElementById("object-state"), 5]],
  count: document.getElementById("object-count"),
  more: document.getElementById("object-more"),
});
if (filters !== null) document.getElementById("object-filters").hidden = false;

const renewThroughput = paced(5000, async () => {
  renew(await freshPage(`/jobs/${place.dataset.job}/throughput`), '[data-live="throughput"]');
});
const renewAll = paced(500, async () => {
  const fresh = await freshPage();
  if (document.getElementById("objects-table") === null && fresh.getElementById("objects-table") !== null) {
    location.reload();
    return;
  }
  for (const name of ["heading", "error", "progress", "throughput"]) renew(fresh, `[data-live="${name}"]`);
  bar.className = fresh.getElementById("bar").className;
  for (const element of fresh.querySelectorAll("[data-object]")) {
    // An event may have told more since that page was made.
    const { object: index } = element.dataset;
    if (element.tagName === "TR" && STEPS.indexOf(stateOf(element)) > STEPS.indexOf(shownState(index))) {
      showObject(index, stateOf(element));
    }
  }
  filters?.refresh();
  advance(Number(fresh.getElementById("bar").getAttribute("value")));
});

function advance(fraction) {
  bar.value = Math.max(bar.value, fraction);
}

function write(id, text) {
  const element = document.getElementById(id);
  if (element !== null && element.textContent !== text) element.textContent = text;
}

function showProgress(progress) {
  advance(progress.fraction);
  write("percent", `${Math.floor(bar.value * 100)} %`);
  write("objects", `${grouped(progress.objects_done)} of ${grouped(progress.objects_total)}`);
  write("payload", `${size(progress.bytes_done)} of ${size(progress.bytes_total)}`);
  write("rate", progress.bytes_per_second === null ? "–" : `${size(progress.bytes_per_second)}/s`);
  write("left", duration(progress.seconds_left));
  renewThroughput();
}

const STEPS = ["pending", "encoding", "encoded", "verified"];

function stateOf(row) {
  return row.cells[5].textContent;
}

function shownState(index) {
  const row = objects.get(index)?.find((element) => element.tagName === "TR");
  return row === undefined ? "verified" : stateOf(row);
}

function showObject(index, state) {
  for (const element of objects.get(String(index)) ?? []) {
    if (element.tagName === "A") {
      element.className = state;
      element.title = `${element.title.replace(/: \w+$/, "")}: ${state}`;
    } else {
      element.cells[5].textContent = state;
      element.cells[5].className = state;
    }
  }
}

function showObjects({ state, indices }) {
  for (const index of indices) showObject(index, state);
  filters?.refresh();
}

const isActive = (state) => ["queued", "planning", "converting", "verifying"].includes(state);

if (isActive(place.dataset.state)) {
  const job = place.dataset.job;
  let known = place.dataset.state;
  const arrive = (state) => {
    if (state !== known) {
      known = state;
      if (state === "queued") bar.value = 0;
      renewAll();
    }
  };
  follow(`/v1/jobs/${job}/events`, {
    snapshot: (found) => {
      arrive(found.state);
      showProgress(found.progress);
      renewAll(); // objects may have moved on since the page was made, or while the connection was lost
    },
    state: (event) => arrive(event.state),
    progress: showProgress,
    object: showObjects,
  }, document.getElementById("live"), { isOver: () => !isActive(known) });
}
