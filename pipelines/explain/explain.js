// Click or arrow keys choose an anchor, and the line below the prompt tells its influence.
// Without this script the same figures stand in the numbers switch, the titles and the table.
(() => {
  const prompt = document.getElementById("prompt");
  const inspector = document.getElementById("inspector");
  const marks = [...prompt.querySelectorAll("mark")];
  if (!marks.length) return;
  let current = -1;

  const clear = () => {
    marks[current]?.classList.remove("chosen");
    current = -1;
    inspector.replaceChildren();
  };
  const choose = (index) => {
    clear();
    current = index;
    const mark = marks[index];
    mark.classList.add("chosen");
    mark.scrollIntoView({ block: "nearest", inline: "nearest" });
    const token = document.createElement("b");
    token.textContent = mark.textContent.replace(/\n/g, "↵");
    const affix = mark.closest(".frame")?.querySelector("h3").textContent;
    inspector.replaceChildren(token, ` ${mark.title}${affix ? `, in ${affix}` : ""}`);
  };

  prompt.addEventListener("click", (event) => {
    const mark = event.target.closest("mark");
    if (mark) choose(marks.indexOf(mark));
    else clear();
  });
  prompt.addEventListener("keydown", (event) => {
    if (event.key === "Escape") clear();
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    choose(current < 0 ? (step > 0 ? 0 : marks.length - 1) : (current + step + marks.length) % marks.length);
  });

  prompt.tabIndex = 0;
  document.getElementById("hint").hidden = false;
})();
