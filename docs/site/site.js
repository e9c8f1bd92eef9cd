/* A page that is opened from a disk may start no worker, and the search is one: here its script runs in a frame of the page. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      frame.title = "search"
      document.body.append(frame)
      const inside = frame.contentWindow
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.ready = new Promise(done => {
        const script = frame.contentDocument.createElement("script")
        script.src = new URL(url, location.href)
        script.onload = () => done(inside)
        frame.contentDocument.body.append(script)
      })
    }
    postMessage(data) {
      this.ready.then(inside => inside.dispatchEvent(new inside.MessageEvent("message", { data })))
    }
    terminate() {}
  }
}

/* Names and focus for readers without a mouse. */
document.addEventListener("DOMContentLoaded", () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search")
  /* The switch of light and dark is two radio buttons, whose labels are seen in turn: what is seen is a button. */
  document.querySelectorAll("[data-md-component=palette] input").forEach(input => {
    input.setAttribute("aria-hidden", "true")
    input.tabIndex = -1
  })
  document.querySelectorAll("[data-md-component=palette] label").forEach(label => {
    label.setAttribute("role", "button")
    label.setAttribute("aria-label", label.title)
    label.tabIndex = 0
    label.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== " ") return
      event.preventDefault()
      label.click()
      document.querySelector("[data-md-component=palette] label:not([hidden])")?.focus()
    })
  })
  setTimeout(() => document.querySelectorAll(".md-typeset__scrollwrap").forEach(table => table.tabIndex = 0), 100)
})
