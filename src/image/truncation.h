/* Why a core ends before it should. */
#ifndef IMAGE_TRUNCATION_H
#define IMAGE_TRUNCATION_H

#include "image/image.h"

/* The likely cause, in words, by the size of the file, what of it was written, and the disk. The
 * text belongs to the image. */
const char *truncation_cause(struct image *im);

#endif
