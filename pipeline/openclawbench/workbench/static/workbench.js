"use strict";
// Panes, verdict forms, drafts.
let lastG = 0;
const form = $("form[data-verdict]"), more = form && $(".only-anomalous", form);
const click = (s) => { const link = $(s); link?.click(); return !!link; };
async function pane(kind) {
  const step = current && current.matches(".step") ? current : $(".step");
  const link = step && $(`[data-pane=${kind}]`, step);
  if (!link) return;
  focusOn(step);
  const open = $(".opened." + kind, step);
  if (open) { open.remove(); return; }
  const box = document.createElement("div");
  box.className = "opened " + kind; box.textContent = "reading…";
  step.append(box);
  const answer = await fetch(link.href);
  const inner = new DOMParser().parseFromString(await answer.text(), "text/html");
  box.replaceChildren($(answer.ok ? ".pane" : "main p", inner) || "cannot be read");
  if (kind === "why") light(step, box);
}
function light(step, box) {
  for (const mark of $$("mark.why", box)) {
    const body = $(`.line.${mark.dataset.field} .body`, step);
    mark.tabIndex = 0;
    mark.onmouseenter = mark.onfocus = () => {
      const range = body && CSS.highlights && rangeOf(body, +mark.dataset.start, +mark.dataset.end);
      if (range) CSS.highlights.set("why", new Highlight(range));
    };
    mark.onmouseleave = () => CSS.highlights?.delete("why");
  }
}
function rangeOf(body, start, end) {
  // Offsets are code points; what the page adds (numbers, summaries) does not count.
  const walk = document.createTreeWalker(body, NodeFilter.SHOW_TEXT), range = document.createRange();
  let at = 0, begun = false;
  for (let node; (node = walk.nextNode());) {
    if (node.parentElement.closest("sup,summary")) continue;
    const control = node.parentElement.closest(".ctl"), points = [...node.data];
    const length = control ? 1 : points.length;
    const place = (n) => control ? 0 : points.slice(0, n).join("").length;
    if (!begun && at + length > start) { range.setStart(node, place(start - at)); begun = true; }
    if (begun && at + length >= end) { range.setEnd(node, control ? node.length : place(end - at)); return range; }
    at += length;
  }
  return null;
}
function check(name, value) {
  const box = $(`[name=${name}][value="${CSS.escape(value)}"]`, form);
  if (box) { box.checked = true; box.dispatchEvent(new Event("input", {bubbles: true})); }
}
function cite() {
  const chosen = getSelection(), line = chosen.anchorNode?.parentElement.closest(".line"), box = form.elements.human_evidence;
  if (!line || !box || chosen.isCollapsed) return;
  box.value += `${line.closest(".item").id.slice(1)} ${line.classList[1]} ${JSON.stringify("" + chosen)}\n`;
  keep();
}
function cycle(name) {
  const all = $$(`[name=${name}]`, form);
  const at = all.findIndex((x) => x.checked);
  if (all.length) check(name, all[(at + 1) % all.length].value);
}
window.onOwnKey = (e) => {
  const key = e.key;
  if (key === "?") { $("#keys").showModal(); return true; }
  if (key === "g") { lastG = Date.now(); return true; }
  if (Date.now() - lastG < 1500 && "tq".includes(key)) { location.href = "/" + key; return true; }
  if (key === "/" && $("#q")) { $("#q").focus(); return true; }
  const link = {"[": "#before", "]": "#after", u: "#again", Enter: current ? "" : "#next", x: ".current [name=pick]", a: "[data-take=A]", b: "[data-take=B]"}[key];
  if (link && click(link)) return true;
  if (key === "y" && current?.id) { navigator.clipboard?.writeText(location.href); return true; }
  if (form) {
    const subtype = more && !more.hidden;
    const box = $$("[data-key]", form).find((x) => x.dataset.key === key && (subtype || x.name !== "human_subtype"));
    if (box) { check(box.name, box.value); return true; }
    if (key === "i" && current?.dataset.step && form.elements.human_onset) {
      form.elements.human_onset.value = current.dataset.step; keep(); return true;
    }
    if (key === "s" && subtype) { cycle("human_severity"); return true; }
    if (key === "v") { cite(); return true; }
    if (key === "c") { $("[name$=comment]", form).focus(); return true; }
  }
  const kind = {r: "raw", w: "why"}[key];
  if (kind) pane(kind);
  return !!kind;
};
addEventListener("click", (e) => {
  const link = e.target.closest("[data-pane]");
  if (link && !e.ctrlKey && !e.metaKey) {
    e.preventDefault(); current = link.closest(".step"); pane(link.dataset.pane);
  }
  const seat = e.target.closest("[data-take]");
  if (seat) { fill(JSON.parse(seat.dataset.answers)); keep(); }
  if (e.target.closest("[data-keys]")) { e.preventDefault(); $("#keys").showModal(); }
});
const draft = form && "draft " + form.dataset.verdict;
function keep() {
  localStorage.setItem(draft, JSON.stringify([...new FormData(form)].filter(([name]) => name !== "form_token")));
  show();
}
function show() {
  if (!more) return;
  more.hidden = $("[name=human_anomaly_label]:checked", form)?.value !== "anomalous";
  more.disabled = more.hidden;
}
function fill(data) {
  for (const [name, value] of data) {
    for (const x of $$(`[name="${CSS.escape(name)}"]`, form)) {
      if (/radio|checkbox/.test(x.type)) x.checked ||= x.value === value; else x.value = value;
    }
  }
}
function restore() {
  let data; try { data = JSON.parse(localStorage.getItem(draft)); } catch { return; }
  fill(data || []);
  if (data) $(".outcome", form).textContent = "a draft, not saved yet";
}
if (form) {
  restore(); show();
  form.addEventListener("input", keep);
  addEventListener("keydown", (e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) form.requestSubmit(); });
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    const out = $(".outcome", form), button = $("button", form), d = form.dataset;
    button.disabled = true; out.textContent = "saving…";
    try {
      const body = new URLSearchParams(new FormData(form)), headers = {accept: "application/json"};
      const result = await (await fetch(form.action, {method: "POST", body, headers})).json();
      if (!result.saved) { out.textContent = result.fault || result.error; return; }
      localStorage.removeItem(draft);
      out.textContent = result.words + (result.status ? ": " + result.status.replaceAll("_", " ") : "");
      if (d.next) location.href = d.next + (result.next ? "/" + result.next : "") + "?last=" + d.verdict.split("/").pop();
      else { location.hash = "verdicts"; location.reload(); }
    } catch { out.textContent = "Not saved: no answer. The draft is kept here."; }
    finally { button.disabled = false; }
  });
}
if ($("[data-refresh]")) setTimeout(() => location.reload(), 1000);
