// The connection: a websocket that comes back by itself, and the commands sent over it.
import { Emitter } from "./emitter.js";
import { parse, SCENE, FRAME, NOTE } from "./message.js";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 5000;

/** Events: 'state' (connected: bool), 'scene' (message), 'frame' (message), 'note' (header), 'trouble' (text). */
export class Stream extends Emitter {
  constructor(url) {
    super();
    this.url = absolute(url);
    this.connected = false;
    this.closed = false;
    this.client = null;
    this.wait = FIRST_WAIT;
    this.nextId = 1;
    this.replies = new Map();
    this.#open();
  }

  #open() {
    const socket = new WebSocket(this.url);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.connected = true;
      this.wait = FIRST_WAIT;
      this.emit("state", true);
    };
    socket.onmessage = (event) => this.#take(event.data);
    socket.onclose = () => {
      if (this.closed || this.socket !== socket) return;
      this.connected = false;
      this.client = null;
      for (const { reject } of this.replies.values()) reject({ what: "the connection was lost", lost: true });
      this.replies.clear();
      this.emit("state", false);
      this.timer = setTimeout(() => this.#open(), this.wait);
      this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
    };
  }

  #take(data) {
    let message;
    try {
      message = parse(data);
    } catch (error) {
      this.emit("trouble", error.message);
      return;
    }
    if (message.kind === FRAME) this.emit("frame", message);
    else if (message.kind === SCENE) this.emit("scene", message);
    else if (message.kind === NOTE) this.#note(message.header);
  }

  #note(note) {
    if (note.event === "hello") this.client = note.client;
    if (note.reply === undefined) {
      this.emit("note", note);
      return;
    }
    const waiting = this.replies.get(note.reply);
    this.replies.delete(note.reply);
    if (note.error) {
      if (waiting) waiting.reject(note.error);
      else this.emit("trouble", sentence(note.error));
    } else waiting?.resolve(note.result);
  }

  /** Sends a command; errors come back as a 'trouble' event. False when there is no connection. */
  send(name, args = {}) {
    this.ask(name, args).catch((error) => {
      if (!error.lost) this.emit("trouble", sentence(error));
    });
    return this.connected;
  }

  /** Sends a command and promises its result. */
  ask(name, args = {}) {
    if (!this.connected) return Promise.reject({ what: "there is no connection", lost: true });
    const id = this.nextId++;
    const reply = new Promise((resolve, reject) => this.replies.set(id, { resolve, reject }));
    this.socket.send(JSON.stringify({ do: name, id, ...args }));
    return reply;
  }

  /** Sends a command without waiting for a reply, for what is sent many times a second. */
  post(name, args = {}) {
    if (this.connected) this.socket.send(JSON.stringify({ do: name, ...args }));
  }

  acknowledge(frame) {
    if (this.connected) this.socket.send(JSON.stringify({ ack: frame }));
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket?.close();
    this.clear();
  }
}

/** An error of the server as one sentence. */
export function sentence(error) {
  if (typeof error === "string") return error;
  return [error.what, error.where, error.remedy].filter(Boolean).join(". ");
}

function absolute(url) {
  const whole = new URL(url, document.baseURI);
  if (whole.protocol === "http:") whole.protocol = "ws:";
  if (whole.protocol === "https:") whole.protocol = "wss:";
  return whole.href;
}
