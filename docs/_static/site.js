// What the theme leaves to add for screen readers and keyboards.
addEventListener("DOMContentLoaded", () => {
  const chinese = document.documentElement.lang.startsWith("zh");
  for (const toggle of document.querySelectorAll("summary:has(> .toctree-toggle)")) {
    const name = toggle.parentElement.parentElement.querySelector("a")?.textContent.trim() ?? "";
    toggle.setAttribute("aria-label", (chinese ? "展开：" : "Pages below ") + name);
  }
  for (const wide of document.querySelectorAll("article table, article pre, div.math")) {
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
  }
});
