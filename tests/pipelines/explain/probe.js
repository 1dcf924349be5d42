// Runs inside the page that is tested: what a browser makes of it, posted to the page around.
const faults = [];
for (const kind of ["error", "securitypolicyviolation", "unhandledrejection"])
  addEventListener(kind, (event) => faults.push(`${kind}: ${event.message ?? event.violatedDirective ?? event.reason}`), true);

const channels = (color) => (color.match(/[\d.]+/g) ?? []).map(Number);
const luminance = (color) => {
  const [r, g, b] = channels(color).map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (element) => {
  for (; element; element = element.parentElement) {
    const color = getComputedStyle(element).backgroundColor;
    if ((channels(color)[3] ?? 1) === 1) return color;
  }
  return "rgb(255, 255, 255)";
};
const contrast = (element) => {
  const [low, high] = [getComputedStyle(element).color, ground(element)].map(luminance).sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
const laidOut = (element) => {
  const box = element.getBoundingClientRect();
  return box.width > 0 && box.height > 0 && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
};
const count = (selector) => {
  const found = [...document.querySelectorAll(selector)];
  return { all: found.length, laid_out: found.filter(laidOut).length };
};
const sticksOut = (element) => element.getBoundingClientRect().right > innerWidth + 0.5 && !element.matches(".skip");

function measure(selectors) {
  const inspector = document.getElementById("inspector");
  const prompt = document.getElementById("prompt");
  const press = (key) => prompt.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const result = {
    width: innerWidth,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    sticking_out: [...document.body.querySelectorAll("*")].filter(sticksOut).map((e) => e.outerHTML.slice(0, 80)),
    counts: Object.fromEntries(selectors.map((selector) => [selector, count(selector)])),
    text_height: document.querySelector(".frame.built .text").getBoundingClientRect().height,
    line_height: parseFloat(getComputedStyle(document.querySelector(".frame.built .text")).lineHeight),
    pale: [...document.body.querySelectorAll("*:not(script)")]
      .filter((e) => hasText(e) && laidOut(e) && contrast(e) < 4.5)
      .map((e) => `${contrast(e).toFixed(2)} ${e.outerHTML.slice(0, 80)}`),
    tab_stops: document.querySelectorAll("#prompt[tabindex='0']").length,
  };
  document.querySelectorAll("mark")[1].click();
  result.clicked = inspector.textContent;
  press("ArrowLeft");
  result.pressed = inspector.textContent;
  press("Escape");
  result.escaped = inspector.textContent;
  document.getElementById("numbers").click();
  result.number = getComputedStyle(document.querySelector("mark"), "::after").content;
  result.overflow_with_numbers = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  document.querySelector("details").open = true;
  result.rows = count("tbody tr").laid_out;
  result.overflow_with_table = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  return { ...result, faults };
}
addEventListener("message", ({ data, source }) => {
  let answer;
  try { answer = measure(data); } catch (error) { answer = { faults: [...faults, String(error.stack)] }; }
  source.postMessage(answer, "*");
});
