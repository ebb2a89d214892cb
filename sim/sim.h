/* sim/sim.h -- what the simulations share. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "heddle/sim.h"
#include "host/host.h"
HD_BEGIN_DECLS

/* The text of sim/<name>.hd, embedded by the build; NULL if there is none. */
const char *hdsim_source(const char *name);

/* What a simulation was made with, lent. */
const HdSimParticlesOptions *hdsim_particles_options(const HdSimParticles *p);
const HdSimClothOptions     *hdsim_cloth_options(const HdSimCloth *c);

HD_END_DECLS
#endif
