// Make tables sortable. The page is complete without this script.
document.querySelectorAll("thead").forEach((head) => {
  const body = head.parentNode.tBodies[0];
  if (body.rows.length < 2) return;
  head.querySelectorAll("th").forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort by this column";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      head.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => {
        const cell = row.cells[column];
        return "order" in cell.dataset ? Number(cell.dataset.order) : cell.textContent;
      };
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === "" || y === "") return (x === "") - (y === "");
        const sign = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
        return down ? -sign : sign;
      };
      body.append(...[...body.rows].sort(compare));
    });
  });
});
const contents = document.querySelector("nav details");
if (matchMedia("(max-width: 67rem)").matches) contents.open = false;
