// Server-sent events of one place, with words about the connection for whoever waits.

const AGAIN_MILLISECONDS = 3000;

/**
 * Follows `url`; `handlers` by event name get parsed data. A connection that is lost is opened again, also where what
 * stands between answers for a service that is just starting, unless `isOver` says that nothing more is to come;
 * `returned` is called when it is there again.
 */
export function follow(url, handlers, status, { isOver = () => false, returned = () => {} } = {}) {
  let wasLost = false;
  const connect = () => {
    const source = new EventSource(url);
    for (const [name, handle] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    }
    source.addEventListener("open", () => {
      say(status, "");
      if (wasLost) returned();
      wasLost = false;
    });
    source.addEventListener("error", () => {
      if (isOver()) {
        source.close();
        say(status, "");
        return;
      }
      wasLost = true;
      say(status, "The connection to the service is lost; trying again.");
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN_MILLISECONDS);
    });
  };
  connect();
}

function say(status, text) {
  if (status !== null && status.textContent !== text) status.textContent = text;
}

/** Calls `work` soon, at most once in `milliseconds`, however often it is asked for; never two at once. */
export function paced(milliseconds, work) {
  let wanted = false;
  let busy = false;
  const run = async () => {
    busy = true;
    while (wanted) {
      wanted = false;
      try {
        await work();
      } catch {
        // The connection is lost: the next event asks again.
      }
      await new Promise((resume) => setTimeout(resume, milliseconds));
    }
    busy = false;
  };
  return () => {
    wanted = true;
    if (!busy) run();
  };
}

/** The present state of this page, or of a part of it that is at `place`, as the service renders it. */
export async function freshPage(place = location.href) {
  const answer = await fetch(place, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Error(`expected the page, found status ${answer.status}`);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

/** Puts the same part of a fresh page in the place of one of this page, unless they are equal; focus and scroll stay. */
export function renew(fresh, selector) {
  const here = document.querySelector(selector);
  const there = fresh.querySelector(selector);
  if (here === null || there === null || here.isEqualNode(there)) return;
  const focused = here.contains(document.activeElement) ? document.activeElement : null;
  const alike = focused === null ? [] : [...there.querySelectorAll(focused.tagName)];
  const counterpart = alike.find((one) => isAlike(one, focused));
  const { scrollLeft = 0, scrollTop = 0 } = focused ?? {};
  here.replaceWith(document.adoptNode(there));
  counterpart?.focus({ preventScroll: true });
  counterpart?.scrollTo(scrollLeft, scrollTop);
}

function isAlike(one, other) {
  if (other.tagName === "A") return one.getAttribute("href") === other.getAttribute("href");
  if (other.tagName === "BUTTON") return one.textContent === other.textContent;
  return one.className === other.className && one.ariaLabel === other.ariaLabel;
}
