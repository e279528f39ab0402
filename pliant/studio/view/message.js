// The stream's messages, as pliant/studio/messages.py writes them.
export const SCENE = 1;
export const FRAME = 2;
export const NOTE = 3;

const MAGIC = 0x31534c50; // "PLS1", little-endian
const HEAD = 16;
const text = new TextDecoder();

/** Kind, header and a reader of sections; the arrays are views of the buffer, nothing is copied. */
export function parse(buffer) {
  if (buffer.byteLength < HEAD) throw new Error(`a message of ${buffer.byteLength} bytes`);
  const head = new DataView(buffer, 0, HEAD);
  const length = head.getUint32(8, true);
  if (head.getUint32(0, true) !== MAGIC || HEAD + length > buffer.byteLength) {
    throw new Error("a message that is not Pliant's: both ends must run the same version");
  }
  const header = JSON.parse(text.decode(new Uint8Array(buffer, HEAD, length)));
  const start = HEAD + length;
  const places = header.sections ?? {};
  const section = (name, Type) => {
    const place = places[name];
    if (!place) return null;
    return new Type(buffer, start + place[0], place[1] / Type.BYTES_PER_ELEMENT);
  };
  return { kind: head.getUint32(4, true), header, section };
}
