// Facts about the layout of the page that is shown, as a list of faults; empty where all hold.
() => {
  const faults = [];
  const width = document.documentElement.clientWidth;
  const say = (what, element) => {
    const name = element.tagName.toLowerCase() + (element.className.baseVal ?? element.className ? "." + (element.className.baseVal ?? element.className) : "");
    faults.push(`${what}: ${name} "${element.textContent.trim().replace(/\s+/g, " ").slice(0, 60)}"`);
  };
  const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const scrolls = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
  const box = (element) => element.closest(".wide");

  if (document.documentElement.scrollWidth > width) faults.push(`the page is ${document.documentElement.scrollWidth} wide, the window ${width}`);

  for (const element of document.body.querySelectorAll("*")) {
    if (!shown(element) || element.closest("svg") !== null && element.tagName !== "svg") continue;
    const rect = element.getBoundingClientRect();
    if (rect.width === 0 || rect.height === 0) continue;
    const own = box(element);
    if (own !== null && own !== element && scrolls(own)) {
      const space = own.getBoundingClientRect();
      if (rect.left < space.left - 1 || rect.right > space.left + own.scrollWidth + 1) say("outside of what its box scrolls", element);
    } else if (rect.left < -1 || rect.right > width + 1) say("outside of the window", element);
  }

  for (const table of document.querySelectorAll("table")) {
    const parent = table.parentElement;
    if (table.getBoundingClientRect().width > parent.clientWidth + 1 && !scrolls(parent)) say("a table that is wider than its box, which does not scroll", table);
  }

  for (const picture of document.querySelectorAll("svg")) {
    const cell = picture.closest("td").getBoundingClientRect(), rect = picture.getBoundingClientRect();
    if (rect.width < 40 || rect.height < 4) say("a picture that is too small to read", picture.closest("td"));
    if (rect.left < cell.left - 1 || rect.right > cell.right + 1 || rect.top < cell.top - 1 || rect.bottom > cell.bottom + 1) say("a picture outside of its cell", picture.closest("td"));
  }

  for (const heading of document.querySelectorAll("h1, h2")) {
    const rect = heading.getBoundingClientRect();
    if (!shown(heading) || rect.height < 12 || heading.textContent.trim() === "") say("a heading that nobody sees", heading);
  }

  // Text: a box for each line of each text node, a little lower than its font's, since fonts that stand in are taller.
  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (node.textContent.trim() === "" || !shown(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      if (rect.width < 1 || rect.height < 1) continue;
      const inset = rect.height * 0.2;
      lines.push({ left: rect.left + 1, right: rect.right - 1, top: rect.top + inset, bottom: rect.bottom - inset, parent, node });
    }
    if (parseFloat(getComputedStyle(parent).fontSize) < 11) say("text that is too small", parent);
  }
  lines.sort((a, b) => a.top - b.top);
  let told = 0;
  for (let i = 0; i < lines.length; i++) {
    for (let j = i + 1; j < lines.length && lines[j].top < lines[i].bottom; j++) {
      const [a, b] = [lines[i], lines[j]];
      if (a.node !== b.node && Math.min(a.right, b.right) > Math.max(a.left, b.left) && told++ < 5) {
        say(`text over text ("${b.node.textContent.trim().slice(0, 30)}")`, a.parent);
      }
    }
  }

  // Contrast, by WCAG 2.2: text 4.5, marks of pictures 3.
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const light = (color) => {
    const [r, g, b] = channels(color).map((value) => { const part = value / 255; return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor, alpha = channels(color)[3];
      if (alpha === undefined || alpha === 1) return color;
      if (alpha > 0) return "rgb(128, 128, 128)"; // a mixture that nobody can judge by its name
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? "rgb(18, 18, 18)" : "rgb(255, 255, 255)";
  };
  const contrast = (color, element) => {
    const [a, b] = [light(color), light(ground(element))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  for (const parent of new Set(lines.map((line) => line.parent))) {
    const found = contrast(getComputedStyle(parent).color, parent);
    if (found < 4.5) say(`a contrast of ${found.toFixed(2)}`, parent);
  }
  for (const mark of document.querySelectorAll("svg .interval, svg .point")) {
    const style = getComputedStyle(mark), found = contrast(mark.matches(".point") ? style.fill : style.stroke, mark);
    if (found < 3) say(`a mark with a contrast of ${found.toFixed(2)}`, mark);
  }
  return [...new Set(faults)].slice(0, 20);
}
