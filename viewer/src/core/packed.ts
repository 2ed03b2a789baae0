// Parts of the page that are not read by the browser itself.
export function taken(id: string): string {
  const element = document.getElementById(id)!;
  const text = (element.textContent ?? "").trim();
  element.remove();
  return text;
}

export async function inflated(bytes: Uint8Array): Promise<Blob> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).blob();
}
