// Looks at its own page again and puts what has changed in the place of what was there. The page itself says how often, and stops
// saying so when nothing can change any more.
"use strict";

(() => {
  const pause = document.getElementById("pause");
  const status = document.getElementById("said");
  let tag = null;
  let paused = false;
  let timer = 0;

  const say = (text) => {
    if (status.textContent !== text) status.textContent = text;
  };

  // Whoever stands on something that is put anew goes on standing there.
  const place = (element) => {
    if (element.id) return `#${CSS.escape(element.id)}`;
    const href = element.getAttribute("href");
    return href ? `[href="${CSS.escape(href)}"]` : element.tagName.toLowerCase();
  };

  function put(old, fresh) {
    if (old.innerHTML === fresh.innerHTML) return;
    const held = old.contains(document.activeElement) ? place(document.activeElement) : null;
    old.replaceChildren(...fresh.childNodes);
    if (held) old.querySelector(held)?.focus({ preventScroll: true });
    old.dispatchEvent(new Event("change"));
  }

  function show(text) {
    const next = new DOMParser().parseFromString(text, "text/html");
    for (const old of document.querySelectorAll("[data-live]")) {
      const fresh = next.getElementById(old.id);
      if (fresh) put(old, fresh);
    }
    const { every, said } = next.body.dataset;
    const before = document.body.dataset.said;
    document.body.dataset.every = every ?? "";
    if (said !== undefined && said !== before) {
      document.body.dataset.said = said;
      say(said);
    }
    if (every === undefined) {
      say("This run has ended.");
      pause.hidden = true;
    }
  }

  async function look() {
    try {
      const headers = tag ? { "If-None-Match": tag } : {};
      const answer = await fetch(location.href, { headers, cache: "no-store", signal: AbortSignal.timeout(30000) });
      if (answer.status === 200) {
        tag = answer.headers.get("ETag");
        show(await answer.text());
      } else if (answer.status !== 304) {
        say("The results cannot be read at the moment. Retrying.");
      }
    } catch {
      say("The server does not answer. Retrying.");
    }
    later();
  }

  function later() {
    clearTimeout(timer);
    const every = Number(document.body.dataset.every);
    // What nobody looks at need not be looked up.
    if (every > 0 && !paused && !document.hidden) timer = setTimeout(look, 1000 * every);
  }

  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Resume updates" : "Pause updates";
    later();
  });
  document.addEventListener("visibilitychange", later);
  later();
})();
