"use strict";
// Moves, zooms and filters the pictures of a report, and searches its records. Without it all is
// there: it only adds controls, and never makes markup of the report's texts.
(() => {
  const SVG = document.querySelector("svg").namespaceURI;
  const ROWS = { session: "session", operation: "operations", belief: "believes", grant: "owns", faults: "faults" };

  function make(name, words, parent) {
    const made = document.createElement(name);
    made.textContent = words;
    parent.append(made);
    return made;
  }

  function button(words, title, parent, pressed) {
    const made = make("button", words, parent);
    made.type = "button";
    made.title = title;
    made.setAttribute("aria-label", title);
    made.addEventListener("click", pressed);
    return made;
  }

  function toggle(words, title, parent, changed) {
    const made = button(words, title, parent, () => {
      const on = made.getAttribute("aria-pressed") !== "true";
      made.setAttribute("aria-pressed", on);
      changed(on);
    });
    made.setAttribute("aria-pressed", "true");
  }

  // A picture whose time axis goes from `start` to `end` seconds between two x coordinates.
  class Picture {
    constructor(svg, number) {
      const data = svg.dataset;
      this.svg = svg;
      this.left = +data.left;
      this.right = +data.right;
      this.start = +data.start;
      this.end = +data.end;
      this.zoom = 1;
      this.shift = 0;
      this.hidden = new Set();
      const box = svg.viewBox.baseVal;
      this.width = box.width;
      this.height = box.height;
      this.moving = [...svg.querySelectorAll("g.moving")];
      this.clients = [...svg.querySelectorAll("g.of-client")];
      this.ticks = svg.querySelector("g.ticks");
      this.stiff = this.moving.flatMap((group) =>
        [...group.querySelectorAll("text, circle, path:not([class*=' d'])")].map((each) => [each, anchor(each), bar(each)]));
      this.clip(`clip-${number}`);
      this.listen();
    }

    clip(name) {
      const clip = document.createElementNS(SVG, "clipPath");
      const area = document.createElementNS(SVG, "rect");
      clip.id = name;
      for (const [key, value] of Object.entries({ x: this.left, y: -9, width: this.right - this.left, height: this.height + 9 })) {
        area.setAttribute(key, value);
      }
      clip.append(area);
      this.svg.prepend(clip);
      for (const group of this.moving) {
        const outer = document.createElementNS(SVG, "g");
        outer.setAttribute("clip-path", `url(#${name})`);
        group.replaceWith(outer);
        outer.append(group);
      }
    }

    listen() {
      const svg = this.svg;
      svg.classList.add("live");
      svg.tabIndex = 0;
      let from = null;
      svg.addEventListener("pointerdown", (event) => { from = event.clientX; });
      svg.addEventListener("pointermove", (event) => {
        if (from === null || !(event.buttons & 1)) { return; }
        svg.setPointerCapture(event.pointerId);
        this.move((event.clientX - from) * this.unit());
        from = event.clientX;
      });
      for (const over of ["pointerup", "pointercancel"]) { svg.addEventListener(over, () => { from = null; }); }
      svg.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.metaKey) { return; }
        event.preventDefault();
        const x = (event.clientX - svg.getBoundingClientRect().left) * this.unit();
        this.magnify(event.deltaY < 0 ? 1.25 : 0.8, x);
      }, { passive: false });
      svg.addEventListener("keydown", (event) => {
        const keys = { "+": [1.5, 0], "=": [1.5, 0], "-": [1 / 1.5, 0], ArrowLeft: [1, 80], ArrowRight: [1, -80] };
        if (event.key === "0") { this.reset(); } else if (keys[event.key]) {
          this.magnify(keys[event.key][0]);
          this.move(keys[event.key][1]);
          event.preventDefault();
        }
      });
    }

    unit() { return this.width / this.svg.getBoundingClientRect().width; }

    magnify(factor, about) {
      const x = about === undefined ? (this.left + this.right) / 2 : about;
      const zoom = Math.min(Math.max(this.zoom * factor, 1), 400);
      this.shift = x - (x - this.shift) * (zoom / this.zoom);
      this.zoom = zoom;
      this.move(0);
    }

    move(by) {
      const least = this.right - this.right * this.zoom;
      const most = this.left - this.left * this.zoom;
      this.shift = Math.min(Math.max(this.shift + by, least), most);
      this.draw();
    }

    reset() {
      this.zoom = 1;
      this.move(0);
    }

    draw() {
      for (const group of this.moving) { group.setAttribute("transform", `matrix(${this.zoom} 0 0 1 ${this.shift} 0)`); }
      const seen = (this.left + 3 - this.shift) / this.zoom;
      for (const [each, x, end] of this.stiff) {
        const place = end > seen ? Math.max(x, seen) : x;
        each.setAttribute("transform", `matrix(${1 / this.zoom} 0 0 1 ${place - x / this.zoom} 0)`);
      }
      this.axis();
    }

    // Round times, as the picture was drawn with, for the stretch that is seen now.
    axis() {
      const length = this.end - this.start;
      const time = (x) => this.start + (((x - this.shift) / this.zoom - this.left) / (this.right - this.left)) * length;
      const [first, last] = [time(this.left), time(this.right)];
      const few = Math.max((this.right - this.left) / 95, 2);
      let step = 10 ** Math.floor(Math.log10((last - first) / few));
      step *= [1, 2, 5, 10].find((factor) => (last - first) / (step * factor) <= few);
      const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
      const { top, bottom } = this.svg.dataset;
      this.ticks.replaceChildren();
      for (let n = Math.ceil(first / step); n * step <= last; n += 1) {
        const x = this.left + ((n * step - first) / (last - first)) * (this.right - this.left);
        const grid = document.createElementNS(SVG, "line");
        const edge = x > this.right - 14;
        const words = document.createElementNS(SVG, "text");
        const place = { x1: x, x2: x, y1: +top, y2: +bottom, class: "grid" };
        for (const [key, value] of Object.entries(place)) { grid.setAttribute(key, value); }
        const said = { x: edge ? this.right : x, y: +bottom + 12, class: "tick", "text-anchor": edge ? "end" : "middle" };
        for (const [key, value] of Object.entries(said)) { words.setAttribute(key, value); }
        words.textContent = `${(n * step).toFixed(decimals)} s`;
        this.ticks.append(grid, words);
      }
    }

    // Clients that are not shown leave no gap: those below them move up.
    show(client, on) {
      this.hidden[on ? "delete" : "add"](client);
      let gone = 0;
      for (const group of this.clients) {
        const hide = this.hidden.has(group.dataset.client);
        group.setAttribute("display", hide ? "none" : "inline");
        group.setAttribute("transform", `translate(0 ${-gone})`);
        gone += hide ? +group.dataset.height : 0;
      }
      this.ticks.setAttribute("transform", `translate(0 ${-gone})`);
      this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height - gone}`);
    }
  }

  // The x coordinate that a shape keeps when the time axis is stretched.
  function anchor(shape) {
    const x = shape.getAttribute("x") || shape.getAttribute("cx");
    return +(x || /^M(-?[\d.]+)/.exec(shape.getAttribute("d"))[1]);
  }

  // Where the bar ends that a shape names, so that its words stay in view; 0 if it names none.
  function bar(shape) {
    const named = shape.classList.contains("inside") ? shape.previousElementSibling : null;
    return named && named.matches("rect") ? +named.getAttribute("x") + +named.getAttribute("width") : 0;
  }

  function tools(picture, box) {
    const bar = document.createElement("div");
    bar.className = "tools";
    box.prepend(bar);
    button("+", "closer (+, or Ctrl and the wheel)", bar, () => picture.magnify(1.5));
    button("\u2212", "wider (-)", bar, () => picture.magnify(1 / 1.5));
    button("\u25c2", "earlier (arrow left, or drag)", bar, () => picture.move(120));
    button("\u25b8", "later (arrow right, or drag)", bar, () => picture.move(-120));
    button("\u21ba", "all of it (0)", bar, () => picture.reset());
    make("span", "", bar).className = "gap";
    for (const { dataset } of picture.clients.length > 1 ? picture.clients : []) {
      toggle(`c${dataset.client}`, `show client ${dataset.client}`, bar, (on) => picture.show(dataset.client, on));
    }
    for (const [kind, words] of Object.entries(ROWS)) {
      const found = picture.svg.querySelector(kind === "faults" ? ".under" : `.k-${kind}`);
      if (found) { toggle(words, `show ${words}`, bar, (on) => picture.svg.classList.toggle(`without-${kind}`, !on)); }
    }
  }

  function choice(words, values, parent) {
    const made = document.createElement("select");
    made.setAttribute("aria-label", words);
    make("option", words, made).value = "";
    for (const value of values) { make("option", value, made).value = value; }
    parent.append(made);
    return made;
  }

  function search(table) {
    const rows = [...table.tBodies[0].rows].map((row) => {
      const cells = [...row.cells].map((cell) => cell.textContent.trim());
      return { row, client: cells[2], f: cells[4], words: cells.join(" ").toLowerCase() };
    });
    const bar = document.createElement("div");
    bar.className = "find";
    table.closest(".records").before(bar);
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = "Search the records (/)";
    input.setAttribute("aria-label", input.placeholder);
    bar.append(input);
    const different = (key) => [...new Set(rows.map((each) => each[key]))].filter(Boolean).sort();
    const client = choice("every client", different("client"), bar);
    const f = choice("every f", different("f"), bar);
    const count = make("span", "", bar);
    count.setAttribute("aria-live", "polite");
    function apply() {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let found = 0;
      for (const each of rows) {
        const fits = (!client.value || each.client === client.value) && (!f.value || each.f === f.value)
          && words.every((word) => each.words.includes(word));
        each.row.classList.toggle("hidden", !fits);
        found += fits;
      }
      count.textContent = `${found} of ${rows.length}`;
    }
    for (const each of [input, client, f]) { each.addEventListener("input", apply); }
    apply();
    return { input, clear() { input.value = client.value = f.value = ""; apply(); } };
  }

  const found = document.getElementById("records") && search(document.getElementById("records"));
  // A record that the search hides is shown before a link leads to it.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#record-']");
    if (link && found) { found.clear(); }
  });
  [...document.querySelectorAll(".picture.moving")].forEach((box, number) => {
    const svg = box.querySelector("svg");
    if (svg) { tools(new Picture(svg, number), box); }
  });

  // Keys: / searches, n and p go along the story.
  const lines = [...document.querySelectorAll(".story li")];
  let current = -1;
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) { return; }
    if (event.key === "/" && found) {
      event.preventDefault();
      found.input.focus();
    } else if ((event.key === "n" || event.key === "p") && lines.length) {
      if (current >= 0) { lines[current].classList.remove("current"); }
      current = Math.min(Math.max(current + (event.key === "n" ? 1 : -1), 0), lines.length - 1);
      lines[current].classList.add("current");
      lines[current].scrollIntoView({ block: "center" });
    }
  });
})();
