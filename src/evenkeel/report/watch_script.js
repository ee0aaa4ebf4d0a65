// SPDX-License-Identifier: Apache-2.0
// A page of `evenkeel watch`: its content is replaced when a run has written more.
"use strict";
(() => {
  const badge = document.body.appendChild(document.createElement("div"));
  badge.className = "live";
  badge.setAttribute("role", "status");
  badge.textContent = "connecting";
  let changes = 0, isBusy = false, isLate = false;
  const renew = async () => {
    if (isBusy) { isLate = true; return; }
    isBusy = true;
    try {
      const answer = await fetch(location.href);
      if (answer.ok) {
        const next = new DOMParser().parseFromString(await answer.text(), "text/html");
        const open = [...document.querySelectorAll("details")].map((each) => each.open);
        document.querySelector("main").replaceWith(next.querySelector("main"));
        document.querySelectorAll("details").forEach((each, i) => { each.open = !!open[i]; });
        document.title = next.title;
        document.body.dataset.changes = ++changes;
        document.dispatchEvent(new Event("replaced"));
      }
    } catch { /* the server has ended; the event source connects again */ }
    isBusy = false;
    if (isLate) { isLate = false; renew(); }
  };
  const source = new EventSource(document.body.dataset.live);
  source.addEventListener("open", () => { badge.textContent = "live"; renew(); });
  source.addEventListener("error", () => { badge.textContent = "disconnected; connects again"; });
  source.addEventListener("change", renew);
})();
