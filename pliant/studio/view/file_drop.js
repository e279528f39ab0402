// Files dropped onto the view: sent to the server, whose report goes to the page.
import { make, show } from "./dom.js";
import { listen } from "./tools.js";

export class FileDrop {
  constructor(view, url) {
    this.view = view;
    this.url = url;
    this.node = make("div", { class: "pv-drop", hidden: true }, make("p", {}, "Drop meshes here"));
    const files = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    const root = view.root;
    this.removers = [
      listen(root, "dragenter", (event) => files(event) && (event.preventDefault(), show(this.node, true))),
      listen(root, "dragover", (event) => files(event) && (event.preventDefault(), (event.dataTransfer.dropEffect = "copy"))),
      listen(root, "dragleave", (event) => !root.contains(event.relatedTarget) && show(this.node, false)),
      listen(root, "drop", (event) => this.#drop(event)),
    ];
  }

  #drop(event) {
    show(this.node, false);
    const files = [...(event.dataTransfer?.files ?? [])];
    if (!files.length) return;
    event.preventDefault();
    this.view.emit("files", files.map(({ name, size }) => ({ name, bytes: size })));
    if (this.url) this.upload(files);
  }

  /** Sends files one after the other; emits 'uploaded' with the server's answer to each. */
  async upload(files) {
    for (const file of files) {
      const toast = this.view.toasts.progress(`Uploading ${file.name}`);
      try {
        const answer = await this.#send(file, (part) =>
          toast.update(part, part < 1 ? `Uploading ${file.name}, ${Math.round(100 * part)} %` : `Reading ${file.name}`));
        this.view.emit("uploaded", { name: file.name, ...answer });
      } catch (error) {
        this.view.toasts.say(`${file.name} was not taken: ${error.message}`, "error");
      } finally {
        toast.done();
      }
    }
  }

  // XMLHttpRequest, because fetch does not tell how much was sent.
  #send(file, tell) {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      const url = new URL(this.url, document.baseURI);
      url.searchParams.set("name", file.name);
      request.open("POST", url);
      request.setRequestHeader("Content-Type", "application/octet-stream");
      request.upload.onprogress = (event) => event.lengthComputable && tell(event.loaded / event.total);
      request.onerror = () => reject(new Error("the connection was lost"));
      request.onload = () => {
        let answer = null;
        try {
          answer = JSON.parse(request.responseText);
        } catch {
          // told below by the status
        }
        if (request.status < 300 && answer) return resolve(answer);
        const error = answer?.error ?? answer?.detail ?? answer;
        const text = error?.what ? told(error, file.name) : typeof error === "string" ? error : null;
        reject(new Error(text ?? `the server answered ${request.status}`));
      };
      request.send(file);
    });
  }

  dispose() {
    this.removers.forEach((remove) => remove());
  }
}

// What went wrong, where in the file, and what to do; the file itself is named already.
function told({ what, where, remedy }, name) {
  const place = !where || where === name || where === "name" ? "" : where.startsWith(`${name}, `) ? where.slice(name.length + 2) : where;
  const parts = [place ? `${what} (${place})` : what, remedy];
  return parts.filter(Boolean).map((part) => part.replace(/\.$/, "")).join(". ") + ".";
}
