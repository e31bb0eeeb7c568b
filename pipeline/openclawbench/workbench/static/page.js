"use strict";
// Reading by keyboard, in the workbench and in an exported file.
const $$ = (s, r = document) => [...r.querySelectorAll(s)], $ = (s, r = document) => r.querySelector(s);
const typing = (e) => e.target.closest("input:not([type=radio]):not([type=checkbox]),textarea,select,dialog[open]");
const reading = document.body.hasAttribute("data-reading");
let current = null, spot = null;  // the step, row or user turn; the quote or block last gone to
function mark(block) {
  $$(".current").forEach((x) => x.classList.remove("current"));
  block.classList.add("current"); current = spot = block;
}
function focusOn(el, center) {
  if (!el) return;
  const block = el.closest(".item,tr") || el;
  for (let d = el.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
  mark(block); spot = el;
  const link = block.matches("tr") && $("a", block);
  (link || block).focus({preventScroll: true});
  el.scrollIntoView({block: center ? "center" : "nearest"});
  if (block.id && reading) history.replaceState(null, "", "#" + block.id);
}
function move(selector, by) {
  const quotes = selector.startsWith("mark"), here = quotes ? spot : current;
  const all = $$(selector).filter((x) => x.offsetParent || x.closest("details"));
  let at = all.indexOf(here);
  if (at < 0) {
    const after = here ? all.findIndex((x) => here.compareDocumentPosition(x) & 4) : 0;
    at = (after < 0 ? all.length : after) - (by > 0);
  }
  const next = all[Math.max(0, Math.min(all.length - 1, at + by))];
  if (next) focusOn(next, quotes);
}
const KEYS = {
  j: () => move(reading ? ".step" : ".rows tbody tr", 1), k: () => move(reading ? ".step" : ".rows tbody tr", -1),
  J: () => move(".user", 1), K: () => move(".user", -1),
  n: () => move("mark[id^=e]", 1), p: () => move("mark[id^=e]", -1),
  o: () => move(".step:has(.onset)", 1), e: () => move(".step.failed", 1),
  f: () => document.body.classList.toggle("folded"),
};
addEventListener("keydown", (e) => {
  if (e.key === "Escape" && typing(e)) { e.target.blur(); return; }
  if (typing(e) || e.ctrlKey || e.metaKey || e.altKey) return;
  if (window.onOwnKey?.(e)) { e.preventDefault(); return; }
  const act = KEYS[e.key];
  if (act) { e.preventDefault(); act(); }
});
addEventListener("click", (e) => {
  const b = e.target.closest("[data-copy],[data-copy-next]");
  if (b) navigator.clipboard?.writeText(b.dataset.copy ?? b.closest("p").nextElementSibling.innerText)
    .then(() => { b.textContent = "copied"; });
  const item = e.target.closest(".item");
  if (item && !e.target.closest("a,button,summary")) mark(item);
});
function goToHash() {
  const el = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (el) focusOn(el, true);
}
addEventListener("hashchange", goToHash);
const view = $(".minimap .view");
function drawView() {
  const article = $("article"), svg = $(".minimap svg");
  if (!view || !article) return;
  const box = article.getBoundingClientRect(), h = svg.height.baseVal.value;
  view.setAttribute("y", Math.max(0, (-box.top / box.height) * h));
  view.setAttribute("height", Math.min(h, Math.max(4, (innerHeight / box.height) * h)));
}
let asked = false;
addEventListener("scroll", () => {
  if (!asked) requestAnimationFrame(() => { asked = false; drawView(); });
  asked = true;
}, {passive: true});
addEventListener("resize", drawView);
goToHash(); drawView();
