"use strict";
// Keys, the chart of the overview, the middle of a wide graph on a phone, and the place on a page that is gone back to. Every page can be read without this file.
(() => {
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const isTyping = (target) => target.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");
  let went = 0;

  function step(by) {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(document.activeElement);
    const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (Date.now() - went < 1000) {
      const link = document.querySelector(`nav [data-key="${CSS.escape(event.key)}"]`);
      went = 0;
      if (link) {
        event.preventDefault();
        link.click();
        return;
      }
    }
    const keys = {
      "/": () => document.getElementById("search").focus(),
      j: () => step(1),
      k: () => step(-1),
      g: () => { went = Date.now(); },
      "?": () => {
        const keysShown = document.getElementById("keys");
        keysShown.open = !keysShown.open;
        if (keysShown.open) keysShown.querySelector("summary").focus();
      },
    };
    if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });

  const POINTS = 300;
  const EVERY = 2000;
  let timer = 0;

  function pulse() {
    clearTimeout(timer);
    const place = document.getElementById("pulse");
    if (!place || !window.uPlot || place.dataset.drawn) return;
    place.dataset.drawn = "yes";
    const data = [[], [], []];
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium", timeZone: place.dataset.zone });
    const values = (_, ticks) => ticks.map((one) => clock.format(new Date(one * 1000)));
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
    const size = () => ({ width: place.clientWidth, height: 180 });
    const options = {
      ...size(),
      series: [
        { value: (_, at) => (at == null ? "" : clock.format(new Date(at * 1000))) },
        { label: "status call, ms", stroke: colour("--accent"), width: 2, scale: "ms" },
        { label: "events that wait", stroke: colour("--warn"), width: 2, scale: "events" },
      ],
      scales: { x: { range: (_, least, most) => [Math.min(least, most - 60), most] }, ms: { range: (_, __, most) => [0, Math.max(10, 1.1 * (most || 0))] },
                events: { range: (_, __, most) => [0, Math.max(5, 1.1 * (most || 0))] } },
      axes: [{ ...axis, values, space: 80 }, { ...axis, scale: "ms" }, { ...axis, scale: "events", side: 1, grid: { show: false } }],
    };
    let plot = null;
    const resized = () => plot?.setSize(size());
    window.addEventListener("resize", resized);
    async function ask() {
      if (!place.isConnected) {
        window.removeEventListener("resize", resized);
        plot?.destroy();
        return;
      }
      try {
        const answer = await fetch(place.dataset.source, { headers: { accept: "application/json" } });
        if (answer.ok && !answer.redirected) {
          const one = await answer.json();
          data[0].push(one.at);
          data[1].push(one.milliseconds);
          data[2].push(one.lag);
          for (const list of data) if (list.length > POINTS) list.shift();
          // uPlot has no scale for a single moment
          if (plot) plot.setData(data);
          else if (data[0].length > 1) plot = new uPlot(options, data, place);
        }
      } catch { /* the gateway is away; the next point says so by its gap */ }
      timer = setTimeout(ask, EVERY);
    }
    ask();
  }

  function start() {
    document.documentElement.classList.add("js");
    const search = document.getElementById("search");
    if (search && window.matchMedia("(any-hover: hover)").matches) search.placeholder = "Search memories  ( / )";
    const picture = document.querySelector(".picture");
    if (picture) picture.scrollLeft = (picture.scrollWidth - picture.clientWidth) / 2;
    pulse();
  }
  // A page that is gone back to is loaded anew. Its history entry knows where it was left; htmx overwrites that before it loads.
  let left = 0;
  document.addEventListener("htmx:beforeRequest", () => { left = window.scrollY; });
  document.addEventListener("htmx:beforeHistoryUpdate", () => history.replaceState({ ...history.state, scroll: left }, ""));
  window.addEventListener("popstate", (event) => {
    if (event.state?.htmx) sessionStorage.setItem("scroll", event.state.scroll ?? 0);
  });
  document.addEventListener("htmx:afterSettle", start);
  start();
  const kept = sessionStorage.getItem("scroll");
  if (kept !== null) {
    sessionStorage.removeItem("scroll");
    history.scrollRestoration = "manual"; // else the browser goes to the top after this
    window.scrollTo(0, kept);
  }
})();
