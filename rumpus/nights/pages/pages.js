"use strict";
// What the pages do not say without it: nothing but the comparison of two nights. It searches tables,
// goes through the grid by arrow keys, and keeps what was chosen in the address.
(() => {
  const make = (name, words, parent) => {
    const made = document.createElement(name);
    made.textContent = words;
    parent.append(made);
    return made;
  };
  const chosen = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  const keep = (name, value) => {
    if (value) { chosen.set(name, value); } else { chosen.delete(name); }
    const words = chosen.toString();
    history.replaceState(null, "", words ? `#${words}` : location.pathname + location.search);
  };
  const choice = (words, values, parent) => {
    const made = document.createElement("select");
    made.setAttribute("aria-label", words);
    if (words) { make("option", words, made).value = ""; }
    for (const value of values) { make("option", value, made).value = value; }
    parent.append(made);
    return made;
  };

  function sift(bar) {
    const table = document.getElementById(bar.dataset.table) || document.querySelector("table.sifted");
    if (!table) { return; }
    const rows = [...table.tBodies[0].rows];
    const words = rows.map((row) => row.textContent.toLowerCase());
    const heads = [...table.tHead.rows[0].cells];
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = "Search (/)";
    input.setAttribute("aria-label", "Search the table");
    bar.append(input);
    const different = (nodes, name) => [...new Set(nodes.map((each) => each.dataset[name]))].filter(Boolean).sort();
    const worlds = different(rows, "world"), branches = different([...heads, ...rows], "branch");
    const fields = { q: input };
    if (worlds.length > 1) { fields.world = choice("every world", worlds, bar); }
    if (branches.length > 1) { fields.branch = choice("every branch", branches, bar); }
    if (rows.some((row) => "broken" in row.dataset)) {
      const label = make("label", "", bar);
      fields.broken = document.createElement("input");
      fields.broken.type = "checkbox";
      label.append(fields.broken, " only broken ones");
    }
    const count = make("span", "", bar);
    count.setAttribute("aria-live", "polite");
    const value = (name) => {
      const field = fields[name];
      return !field ? "" : field.type === "checkbox" ? (field.checked ? "1" : "") : field.value;
    };
    for (const name of Object.keys(fields)) {
      const given = chosen.get(name) || "";
      if (fields[name].type === "checkbox") { fields[name].checked = given === "1"; } else { fields[name].value = given; }
      if (fields[name].value === undefined) { fields[name].value = ""; }
    }
    function apply() {
      const asked = value("q").toLowerCase().split(/\s+/).filter(Boolean);
      let found = 0;
      rows.forEach((row, number) => {
        const data = row.dataset;
        const fits = asked.every((each) => words[number].includes(each))
          && (!value("world") || data.world === value("world"))
          && (!value("branch") || data.branch === undefined || data.branch === value("branch"))
          && (!value("broken") || "broken" in data);
        row.toggleAttribute("data-hidden", !fits);
        found += fits;
      });
      heads.forEach((head, place) => {
        if (head.dataset.branch === undefined) { return; }
        const hide = Boolean(value("branch")) && head.dataset.branch !== value("branch");
        if (hide === head.hasAttribute("data-hidden")) { return; }
        head.toggleAttribute("data-hidden", hide);
        for (const row of rows) { row.cells[place].toggleAttribute("data-hidden", hide); }
      });
      count.textContent = `${found} of ${rows.length}`;
    }
    for (const [name, field] of Object.entries(fields)) {
      field.addEventListener("input", () => { keep(name, value(name)); apply(); });
    }
    apply();
  }

  function walk(table) {
    const rows = () => [...table.tBodies[0].rows].filter((row) => !row.hasAttribute("data-hidden"));
    const first = table.tBodies[0].querySelector("td");
    if (first) { first.tabIndex = 0; }
    table.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      const cell = event.target.closest("td");
      if (!cell) { return; }
      const row = cell.parentElement, place = cell.cellIndex;
      if (event.key === "Enter") {
        row.querySelector("th a").click();
      } else if (step) {
        const every = rows();
        let next = every[Math.min(Math.max(every.indexOf(row) + step[0], 0), every.length - 1)].cells[place + step[1]];
        while (next && next.hasAttribute("data-hidden")) { next = next.parentElement.cells[next.cellIndex + step[1]]; }
        if (next && next.matches("td")) {
          cell.tabIndex = -1;
          next.tabIndex = 0;
          next.focus();
        }
        event.preventDefault();
      }
    });
    // What a cell stands for is said when it is reached.
    const say = (event) => {
      const cell = event.target.closest("td");
      if (cell && !cell.title) {
        const head = table.tHead.rows[0].cells[cell.cellIndex].querySelector("span").textContent;
        const words = { "": "no run", ok: "valid", open: "nothing decided", lost: "could not be run" }[cell.className];
        cell.title = `${cell.parentElement.cells[0].textContent}, ${head}: ${words || `${cell.textContent} broke a promise (${cell.className})`}`;
        cell.setAttribute("aria-label", cell.title);
      }
    };
    table.addEventListener("mouseover", say);
    table.addEventListener("focusin", say);
  }

  // Figures that differ by less than 5 % are not told.
  const LEAST = Math.log(1.05);

  function compare(box, data) {
    const bar = make("div", "", box);
    bar.className = "choice";
    const names = data.nights.map(([name]) => name);
    const pick = (words, value) => {
      const label = make("label", `${words} `, bar);
      const made = choice("", [...names].reverse(), label);
      made.value = names.includes(value) ? value : made.value;
      return made;
    };
    const a = pick("A", chosen.get("a") || names[names.length - 2]);
    const b = pick("B", chosen.get("b") || names[names.length - 1]);
    const out = make("div", "", box);
    const digits = (value) => (value === null || value === undefined ? "" : String(+value.toPrecision(3)));
    function table(heads, lines) {
      const wide = make("div", "", out);
      wide.className = "wide";
      const made = make("table", "", wide);
      const top = made.createTHead().insertRow();
      for (const [words, style] of heads) { make("th", words, top).className = style; }
      const body = made.createTBody();
      for (const cells of lines) {
        const row = body.insertRow();
        for (const [place, cell] of cells.entries()) {
          const td = row.insertCell();
          td.className = heads[place][1];
          if (Array.isArray(cell)) { make("a", cell[0], td).href = cell[1]; } else { td.textContent = cell; }
        }
      }
    }
    function show() {
      out.replaceChildren();
      const [at, bt] = [names.indexOf(a.value), names.indexOf(b.value)];
      if (at < 0 || bt < 0) { return; }
      const word = (name) => (/^[\w.~-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);
      make("pre", `rumpus compare ${word(a.value)} ${word(b.value)}`, out);
      const states = data.failures.map(([words, place], number) => {
        const [x, y] = [data.shown[at][number] || 0, data.shown[bt][number] || 0];
        return { cells: [x ? (y ? "both" : "only A") : "only B", [words, place], x, y], any: x + y };
      }).filter((each) => each.any).sort((x, y) => (x.cells[0] < y.cells[0] ? 1 : -1));
      make("h2", "Failures", out);
      if (states.length) {
        table([["seen by", ""], ["failure", ""], ["runs of A", "n"], ["runs of B", "n"]], states.map((each) => each.cells));
      } else { make("p", "Neither night saw one.", out); }
      const both = data.subjects.map((subject, number) => [subject, data.runs[at][number], data.runs[bt][number]]);
      const share = (counts) => (counts[1] ? counts[0] / counts[1] : 0);
      const common = both.filter(([, x, y]) => x && y);
      make("h2", "Runs that broke a promise, of those that were judged", out);
      table([["on trial", ""], ["A", "n"], ["B", "n"]], common
        .sort(([, x, y], [, v, w]) => share(w) - share(v) - (share(y) - share(x)))
        .filter(([, x, y]) => x[0] + y[0])
        .map(([subject, x, y]) => [subject, `${x[0]} of ${x[1]}`, `${y[0]} of ${y[1]}`]));
      make("h2", "Figures that differ by 5 % or more", out);
      const factors = [];
      for (const [subject, x, y] of common) {
        data.figures.forEach(([name, unit], place) => {
          const [before, now] = [x[place + 2], y[place + 2]];
          const by = before > 0 && now > 0 ? Math.abs(Math.log(now / before)) : 0;
          if (by > LEAST) { factors.push([by, [subject, name, `${digits(before)} ${unit}`, `${digits(now)} ${unit}`, digits(now / before)]]); }
        });
      }
      factors.sort(([x], [y]) => y - x);
      table([["on trial", ""], ["figure", ""], ["A", "n"], ["B", "n"], ["factor", "n"]], factors.slice(0, 40).map(([, cells]) => cells));
      const alone = both.filter(([, x, y]) => Boolean(x) !== Boolean(y));
      if (alone.length) { make("p", `${alone.length} that only one of them ran are left out.`, out).className = "soft"; }
    }
    for (const [name, field] of [["a", a], ["b", b]]) {
      field.addEventListener("input", () => { keep(name, field.value); show(); });
    }
    show();
  }

  document.querySelectorAll(".sift").forEach(sift);
  document.querySelectorAll(".grid-of-nights").forEach(walk);
  const data = document.getElementById("compare-data");
  if (data) { compare(document.getElementById("compare"), JSON.parse(data.textContent)); }
  document.addEventListener("keydown", (event) => {
    const input = document.querySelector(".sift input[type=search]");
    if (event.key === "/" && input && !event.target.matches("input, select, textarea") && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
    }
  });
})();
