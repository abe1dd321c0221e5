// The search page: Pagefind's own form, which begins with the words that a page's field has sent.
addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("search");
  const asked = new URLSearchParams(location.search).get("q");
  const ui = new PagefindUI({
    element: "#search",
    bundlePath: new URL(place.dataset.bundle, location.href).pathname,
    showImages: false,
    showSubResults: true,
    resetStyles: false,
    autofocus: true,
    pageSize: 10,
  });
  const field = place.querySelector("input");
  field.setAttribute("aria-label", field.placeholder);
  if (asked) ui.triggerSearch(asked);
});
