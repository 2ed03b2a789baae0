// A picture that is as wide as its place, drawn anew when that changes.
import { isDark } from "../charts/palette";
import { paint, type Picture } from "../charts/pen";
import { h } from "../core/dom";

export function canvasOf(picture: (width: number) => Picture, props: Parameters<typeof h>[1]): { canvas: HTMLCanvasElement; draw: () => void } {
  const canvas = h("canvas", { role: "img", ...props });
  const draw = (): void => {
    if (canvas.clientWidth > 0) {
      paint(canvas, picture(canvas.clientWidth), isDark());
    }
  };
  new ResizeObserver(draw).observe(canvas);
  return { canvas, draw };
}
